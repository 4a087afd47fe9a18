//! A node's program: says what its clocks show, and waits in several ways.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Condvar, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const PORT: u16 = 7000;

pub fn main() -> ExitCode {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || serve(stream));
    }
    ExitCode::SUCCESS
}

/// One request a line: wall | all | monotonic | calls N | a way to wait, and milliseconds.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            None if line == "wall" => wall().to_string(),
            None if line == "all" => every_wall_clock(),
            None if line == "monotonic" => clock(libc::CLOCK_MONOTONIC).to_string(),
            Some(("calls", number)) => ns_a_call(number.parse().unwrap()).to_string(),
            Some((way, ms)) => {
                let began = Instant::now();
                wait(way, Duration::from_millis(ms.parse().unwrap()));
                began.elapsed().as_nanos().to_string()
            }
            None => "?".into(),
        };
        writer.write_all(format!("{answer}\n").as_bytes())?;
    }
    Ok(())
}

fn wall() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut now = timespec(0);
    // SAFETY: `now` is there to be filled.
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn timespec(ns: i64) -> libc::timespec {
    libc::timespec {
        tv_sec: ns / 1_000_000_000,
        tv_nsec: ns % 1_000_000_000,
    }
}

/// The wall clock in seconds, by each way there is to it.
fn every_wall_clock() -> String {
    let mut tv = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let mut ts = timespec(0);
    // SAFETY: all that is to be filled is there.
    let seconds = unsafe {
        libc::gettimeofday(&mut tv, std::ptr::null_mut());
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &mut ts);
        [
            (wall() / 1_000_000_000) as i64,
            tv.tv_sec,
            libc::time(std::ptr::null_mut()),
            ts.tv_sec,
            clock(libc::CLOCK_REALTIME_COARSE) / 1_000_000_000,
        ]
    };
    seconds.map(|second| second.to_string()).join(" ")
}

fn ns_a_call(calls: u32) -> f64 {
    let began = clock(libc::CLOCK_MONOTONIC_RAW);
    for _ in 0..calls {
        std::hint::black_box(clock(libc::CLOCK_REALTIME));
    }
    (clock(libc::CLOCK_MONOTONIC_RAW) - began) as f64 / f64::from(calls)
}

/// Waits so long on the clock that the way is about.
fn wait(way: &str, time: Duration) {
    let later = |id| timespec(clock(id) + time.as_nanos() as i64);
    match way {
        "sleep" => std::thread::sleep(time),
        "park" => std::thread::park_timeout(time),
        "condvar" => {
            let (mutex, condvar) = (Mutex::new(()), Condvar::new());
            drop(condvar.wait_timeout_while(mutex.lock().unwrap(), time, |()| true));
        }
        "channel" => {
            let (sender, receiver) = mpsc::channel::<()>();
            receiver.recv_timeout(time).unwrap_err();
            drop(sender);
        }
        "nanosleep" => {
            let at = later(libc::CLOCK_REALTIME);
            // SAFETY: the deadline is there.
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_REALTIME,
                    libc::TIMER_ABSTIME,
                    &at,
                    std::ptr::null_mut(),
                )
            };
        }
        "tokio" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // The timer is made inside the runtime: it belongs to one.
            runtime
                .unwrap()
                .block_on(async { tokio::time::sleep(time).await });
        }
        "pthread-wall" => pthread_wait(libc::CLOCK_REALTIME, later),
        "pthread-monotonic" => pthread_wait(libc::CLOCK_MONOTONIC, later),
        "timerfd-wall" => timer(libc::CLOCK_REALTIME, later),
        "timerfd-monotonic" => timer(libc::CLOCK_MONOTONIC, later),
        "semaphore" => {
            let at = later(libc::CLOCK_REALTIME);
            // SAFETY: a semaphore of this thread, made before it is waited for.
            unsafe {
                let mut semaphore = std::mem::zeroed();
                libc::sem_init(&mut semaphore, 0, 0);
                libc::sem_timedwait(&mut semaphore, &at);
            }
        }
        other => panic!("no way to wait: {other}"),
    }
}

fn pthread_wait(id: libc::clockid_t, later: impl Fn(libc::clockid_t) -> libc::timespec) {
    // SAFETY: condition variable and mutex of this thread, made before they are used; nobody signals, so the wait ends
    // at its deadline.
    unsafe {
        let (mut attributes, mut condition) = (std::mem::zeroed(), std::mem::zeroed());
        let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        libc::pthread_condattr_init(&mut attributes);
        libc::pthread_condattr_setclock(&mut attributes, id);
        libc::pthread_cond_init(&mut condition, &attributes);
        libc::pthread_mutex_lock(&mut mutex);
        let at = later(id);
        while libc::pthread_cond_timedwait(&mut condition, &mut mutex, &at) == 0 {}
    }
}

fn timer(id: libc::clockid_t, later: impl Fn(libc::clockid_t) -> libc::timespec) {
    let setting = libc::itimerspec {
        it_interval: timespec(0),
        it_value: later(id),
    };
    let mut expired = 0_u64;
    // SAFETY: a descriptor of our own; eight bytes are read into eight bytes.
    unsafe {
        let fd = libc::timerfd_create(id, 0);
        libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &setting, std::ptr::null_mut());
        libc::read(fd, (&raw mut expired).cast(), 8);
        libc::close(fd);
    }
}
