//! The clock shim: preloaded into every program of a node, it shows the node's clocks as the node's rules have them.
//!
//! What it does: takes the place of the C library's functions that read clocks, or that wait until a clock shows
//! something, and of `syscall` for those of them that programs make by hand. Deadlines are translated back to the
//! truth. When init asks, the next call says what this process is shown ([`page::Report`]). What it does not: touch
//! relative waits, the clocks of CPU time, CLOCK_MONOTONIC_RAW, POSIX timers with absolute times, file times; or reach
//! a program that does not ask the C library (static ones, Go's).
//!
//! Invariants: with no rule in force every answer is the C library's own. It allocates nothing, holds no lock that a
//! killed thread could leave behind, never panics, and leaves no descriptor open. It needs glibc; where that is not
//! the C library, it does nothing.
//!
//! No std and no libc crate: rustc alone makes a shared object of it.
#![no_std]
// `next!` has a block of its own wherever it stands.
#![allow(unused_unsafe)]

// Half of it is for init.
#[allow(dead_code)]
mod page;

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64};
use page::{MAX_REPORTS, Report, Reports, Rules};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

// `core` was built to unwind and names this; nothing here ever does. Hidden: a program whose std is a library of its
// own must find its own one.
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "ret"
);

/// Where init puts the pages, in the node's own /tmp; NUL-terminated.
const RULES: &CStr = c"/tmp/.ackall-clock/rules";
const REPORTS: &CStr = c"/tmp/.ackall-clock/reports";

const SECOND: i64 = 1_000_000_000;
const REALTIME: c_int = 0;
const MONOTONIC: c_int = 1;
const REALTIME_COARSE: c_int = 5;
/// TIMER_ABSTIME and TFD_TIMER_ABSTIME.
const ABSOLUTE: c_int = 1;
/// Beyond this a deadline means "never", and adding to it would overflow.
const NEVER_SEC: i64 = 9_000_000_000;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timespec {
    sec: i64,
    nsec: i64,
}

#[repr(C)]
pub struct Timeval {
    sec: i64,
    usec: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Itimerspec {
    interval: Timespec,
    value: Timespec,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn mmap(at: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
}

const RTLD_DEFAULT: *mut c_void = null_mut();
const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;

/// Never unmapped once set.
static RULES_AT: AtomicPtr<Rules> = AtomicPtr::new(null_mut());
static REPORTS_AT: AtomicPtr<Reports> = AtomicPtr::new(null_mut());
/// The last of init's questions that this process has answered.
static ANSWERED: AtomicU64 = AtomicU64::new(0);
/// In which word of a pthread_cond_t, and which bits of it, glibc keeps that its clock is the monotonic one:
/// word * 2^32 + bits. Found out at the start, since the layout differs between versions; 0 where it is not known.
static COND_CLOCK: AtomicU64 = AtomicU64::new(0);
/// The clock of each timer descriptor that this process made, plus one.
static TIMERS: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = {
    extern "C" fn init() {
        // SAFETY: plain calls with valid names; a null answer is looked at.
        unsafe {
            if dlsym(RTLD_DEFAULT, c"gnu_get_libc_version".as_ptr()).is_null() {
                return;
            }
        }
        COND_CLOCK.store(find_cond_clock(), Relaxed);
        REPORTS_AT.store(map(REPORTS, size_of::<Reports>(), true).cast(), Release);
        RULES_AT.store(map(RULES, size_of::<Rules>(), false).cast(), Release);
    }
    init
};

/// Maps a shared file; null where that fails.
fn map(path: &CStr, len: usize, write: bool) -> *mut c_void {
    const CLOEXEC: c_int = 0o2_000_000;
    const SHARED: c_int = 1;
    let (flags, prot) = if write { (2, 3) } else { (0, 1) };
    // SAFETY: the path is NUL-terminated; the mapping is fresh, and the descriptor ours to close.
    unsafe {
        let fd = open(path.as_ptr(), flags | CLOEXEC);
        if fd < 0 {
            return null_mut();
        }
        let at = mmap(null_mut(), len, prot, SHARED, fd, 0);
        close(fd);
        if at as isize == -1 { null_mut() } else { at }
    }
}

/// The next definition of a symbol, found once and lazily: other libraries' constructors read clocks before ours runs.
macro_rules! next {
    ($name:literal, fn($($type:ty),*) -> $result:ty) => {{
        static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
        let mut found = FOUND.load(Relaxed);
        if found.is_null() {
            // SAFETY: the name is NUL-terminated.
            found = unsafe { dlsym(RTLD_NEXT, $name.as_ptr()) };
            FOUND.store(found, Relaxed);
        }
        // SAFETY: whoever calls ours was linked against the C library's, so it is there, and is of this type.
        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(found) }
    }};
}

// ------------------------------------------------------------------------------------------------ system calls

#[cfg(target_arch = "x86_64")]
mod number {
    use core::ffi::c_long;
    pub const CLOCK_GETTIME: c_long = 228;
    pub const CLOCK_NANOSLEEP: c_long = 230;
    pub const FUTEX: c_long = 202;
    pub const GETPID: c_long = 39;
    pub const GETTIMEOFDAY: c_long = 96;
    pub const TIME: c_long = 201;
    pub const TIMERFD_SETTIME: c_long = 286;
}

#[cfg(target_arch = "aarch64")]
mod number {
    use core::ffi::c_long;
    pub const CLOCK_GETTIME: c_long = 113;
    pub const CLOCK_NANOSLEEP: c_long = 115;
    pub const FUTEX: c_long = 98;
    pub const GETPID: c_long = 172;
    pub const GETTIMEOFDAY: c_long = 169;
    /// There is none.
    pub const TIME: c_long = -1;
    pub const TIMERFD_SETTIME: c_long = 86;
}

/// A system call past every library: what the kernel says is the truth.
///
/// # Safety
/// The arguments must be right for the call.
#[cfg(target_arch = "x86_64")]
unsafe fn kernel(number: c_long, a: c_long, b: c_long) -> c_long {
    let result;
    // SAFETY: the calling convention of Linux on this processor; what the call does is the caller's business.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// A system call past every library: what the kernel says is the truth.
///
/// # Safety
/// The arguments must be right for the call.
#[cfg(target_arch = "aarch64")]
unsafe fn kernel(number: c_long, a: c_long, b: c_long) -> c_long {
    let result;
    // SAFETY: the calling convention of Linux on this processor; what the call does is the caller's business.
    unsafe {
        core::arch::asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, options(nostack));
    }
    result
}

fn truth(id: c_int) -> i64 {
    let mut now = Timespec { sec: 0, nsec: 0 };
    // SAFETY: `now` is there for the kernel to fill.
    unsafe { kernel(number::CLOCK_GETTIME, id.into(), &raw mut now as c_long) };
    now.ns()
}

// ------------------------------------------------------------------------------------------------ what is shown

impl Timespec {
    fn ns(self) -> i64 {
        self.sec.saturating_mul(SECOND).saturating_add(self.nsec)
    }

    fn of(ns: i64) -> Timespec {
        Timespec {
            sec: ns.div_euclid(SECOND),
            nsec: ns.rem_euclid(SECOND),
        }
    }
}

/// The clocks that can be false.
#[derive(Clone, Copy)]
enum Shown {
    Wall,
    Monotonic,
}

impl Shown {
    fn of(id: c_int) -> Option<Shown> {
        match id {
            // REALTIME, its coarse form, its alarm, TAI.
            0 | 5 | 8 | 11 => Some(Shown::Wall),
            // MONOTONIC, its coarse form, BOOTTIME, its alarm. MONOTONIC_RAW and CPU times stay true.
            1 | 6 | 7 | 9 => Some(Shown::Monotonic),
            _ => None,
        }
    }
}

#[inline]
fn rules() -> Option<&'static Rules> {
    // SAFETY: null, or a mapping of the right size that stays.
    unsafe { RULES_AT.load(Acquire).as_ref() }
}

/// A deadline on a shown clock, as one that the kernel understands.
fn deadline(id: c_int, at: Timespec) -> Timespec {
    let (Some(rules), Some(shown)) = (rules(), Shown::of(id)) else {
        return at;
    };
    // What the kernel refuses it shall refuse; what never comes, never comes.
    if !(0..SECOND).contains(&at.nsec) || !(0..NEVER_SEC).contains(&at.sec) {
        return at;
    }
    let ns = match shown {
        Shown::Wall => rules.wall_truth(at.ns(), || truth(REALTIME)),
        Shown::Monotonic => rules.monotonic_truth(at.ns()),
    };
    // Zero would disarm a timer, and less is refused: both mean long ago.
    Timespec::of(ns.max(1))
}

/// The deadline behind a pointer; the pointer itself where there is nothing to translate.
///
/// # Safety
/// `at` must be null or point to a deadline.
unsafe fn deadline_at(id: c_int, at: *const Timespec, room: &mut Timespec) -> *const Timespec {
    if at.is_null() {
        return at;
    }
    // SAFETY: as the caller says.
    *room = deadline(id, unsafe { *at });
    room
}

// ------------------------------------------------------------------------------------------------ reports

/// Answers init's question, if there is one, by what this process is shown.
#[inline]
fn answer(rules: &Rules) {
    let asked = rules.asked.load(Relaxed);
    let answered = ANSWERED.load(Relaxed);
    if asked != answered
        && ANSWERED
            .compare_exchange(answered, asked, Relaxed, Relaxed)
            .is_ok()
    {
        report();
    }
}

#[cold]
#[inline(never)]
fn report() {
    // SAFETY: null, or a mapping of the right size that stays.
    let Some(reports) = (unsafe { REPORTS_AT.load(Acquire).as_ref() }) else {
        return;
    };
    // SAFETY: takes no arguments. The C library's getpid may be remembered from before a fork.
    let pid = unsafe { kernel(number::GETPID, 0, 0) } as i32;
    let Some(report) = own(reports, pid) else { return };
    // Two threads may answer two questions at a time: one of them will do.
    if report.lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        return;
    }
    // Not our own function but whatever a caller in this process finds under the name: if that is not ours, what it
    // shows is what counts.
    // SAFETY: the name is NUL-terminated, and names a function of this type.
    let clock_gettime = unsafe {
        core::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int, *mut Timespec) -> c_int>(dlsym(
            RTLD_DEFAULT,
            c"clock_gettime".as_ptr(),
        ))
    };
    let shown = |id: c_int| {
        let mut now = Timespec { sec: 0, nsec: 0 };
        // SAFETY: `now` is there to be filled.
        unsafe { clock_gettime(id, &mut now) };
        now.ns()
    };
    let before = truth(MONOTONIC);
    let monotonic = shown(MONOTONIC);
    let between = truth(MONOTONIC);
    let wall_before = truth(REALTIME);
    let wall = shown(REALTIME);
    let wall_after = truth(REALTIME);
    report
        .monotonic_true
        .store(before + (between - before) / 2, Relaxed);
    report.monotonic_shown.store(monotonic, Relaxed);
    report
        .wall_true
        .store(wall_before + (wall_after - wall_before) / 2, Relaxed);
    report.wall_shown.store(wall, Relaxed);
    report
        .window
        .store((between - before).max(wall_after - wall_before), Relaxed);
    report.count.fetch_add(1, Relaxed);
    report.lock.store(0, Release);
}

/// This process's own report, taken from the free ones at the first time. Init clears those of the dead.
fn own(reports: &Reports, pid: i32) -> Option<&Report> {
    let start = pid as u32 as usize % MAX_REPORTS;
    let (early, late) = reports.0.split_at_checked(start)?;
    late.iter().chain(early).find(|report| {
        let owner = report.pid.load(Relaxed);
        owner == pid || owner == 0 && report.pid.compare_exchange(0, pid, Relaxed, Relaxed).is_ok()
    })
}

// ------------------------------------------------------------------------------------------------ reading clocks

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(id: c_int, ts: *mut Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { next!(c"clock_gettime", fn(c_int, *mut Timespec) -> c_int)(id, ts) };
    if result == 0
        && let (Some(rules), Some(clock)) = (rules(), Shown::of(id))
    {
        // SAFETY: the C library has filled it.
        let now = unsafe { (*ts).ns() };
        let gain = match clock {
            Shown::Wall => rules.wall_gain(now),
            Shown::Monotonic => rules.monotonic_gain(now),
        };
        if gain != 0 {
            // SAFETY: as above.
            unsafe { *ts = Timespec::of(now.wrapping_add(gain)) };
        }
        answer(rules);
    }
    result
}

fn now(id: c_int) -> Timespec {
    let mut now = Timespec { sec: 0, nsec: 0 };
    // SAFETY: `now` is there to be filled.
    unsafe { clock_gettime(id, &mut now) };
    now
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(tv: *mut Timeval, tz: *mut c_void) -> c_int {
    if !tz.is_null() || tv.is_null() {
        // SAFETY: the caller's arguments, passed on.
        let result = unsafe { next!(c"gettimeofday", fn(*mut Timeval, *mut c_void) -> c_int)(tv, tz) };
        if result != 0 || tv.is_null() {
            return result;
        }
    }
    let now = now(REALTIME);
    let shown = Timeval {
        sec: now.sec,
        usec: now.nsec / 1000,
    };
    // SAFETY: the caller's, and not null.
    unsafe { *tv = shown };
    0
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(out: *mut i64) -> i64 {
    // As the real one: from the coarse clock.
    let now = now(REALTIME_COARSE).sec;
    if !out.is_null() {
        // SAFETY: the caller's, and not null.
        unsafe { *out = now };
    }
    now
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timespec_get(ts: *mut Timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    if base != TIME_UTC {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { next!(c"timespec_get", fn(*mut Timespec, c_int) -> c_int)(ts, base) };
    }
    // SAFETY: the caller's.
    unsafe { *ts = now(REALTIME) };
    base
}

// ------------------------------------------------------------------------------------------------ waiting for clocks

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    id: c_int,
    flags: c_int,
    wanted: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    let sleep = next!(
        c"clock_nanosleep",
        fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int
    );
    let mut room = Timespec { sec: 0, nsec: 0 };
    let wanted = if flags & ABSOLUTE == 0 {
        wanted
    } else {
        // SAFETY: null or the caller's deadline.
        unsafe { deadline_at(id, wanted, &mut room) }
    };
    // SAFETY: the caller's arguments, and a deadline of ours.
    unsafe { sleep(id, flags, wanted, left) }
}

/// A function of some pointers and, last, a deadline of one clock.
macro_rules! timed {
    ($name:ident, $literal:literal, $clock:expr, $($arg:ident),+) => {
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: *mut c_void,)+ at: *const Timespec) -> c_int {
            let wait = next!($literal, fn($(timed!(@type $arg),)+ *const Timespec) -> c_int);
            let mut room = Timespec { sec: 0, nsec: 0 };
            // SAFETY: null or the caller's deadline; the caller's other arguments, passed on.
            unsafe { wait($($arg,)+ deadline_at($clock, at, &mut room)) }
        }
    };
    (@type $arg:ident) => { *mut c_void };
}

timed!(sem_timedwait, c"sem_timedwait", REALTIME, sem);
timed!(
    pthread_mutex_timedlock,
    c"pthread_mutex_timedlock",
    REALTIME,
    mutex
);
timed!(
    pthread_rwlock_timedrdlock,
    c"pthread_rwlock_timedrdlock",
    REALTIME,
    lock
);
timed!(
    pthread_rwlock_timedwrlock,
    c"pthread_rwlock_timedwrlock",
    REALTIME,
    lock
);
timed!(mtx_timedlock, c"mtx_timedlock", REALTIME, mutex);
timed!(cnd_timedwait, c"cnd_timedwait", REALTIME, cond, mutex);
timed!(
    pthread_timedjoin_np,
    c"pthread_timedjoin_np",
    REALTIME,
    thread,
    out
);
timed!(
    pthread_cond_timedwait,
    c"pthread_cond_timedwait",
    cond_clock(cond),
    cond,
    mutex
);

/// A function of some pointers, a clock and, last, a deadline.
macro_rules! clocked {
    ($name:ident, $literal:literal, $($arg:ident),+) => {
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: *mut c_void,)+ id: c_int, at: *const Timespec) -> c_int {
            let wait = next!($literal, fn($(timed!(@type $arg),)+ c_int, *const Timespec) -> c_int);
            let mut room = Timespec { sec: 0, nsec: 0 };
            // SAFETY: null or the caller's deadline; the caller's other arguments, passed on.
            unsafe { wait($($arg,)+ id, deadline_at(id, at, &mut room)) }
        }
    };
}

clocked!(sem_clockwait, c"sem_clockwait", sem);
clocked!(pthread_mutex_clocklock, c"pthread_mutex_clocklock", mutex);
clocked!(pthread_rwlock_clockrdlock, c"pthread_rwlock_clockrdlock", lock);
clocked!(pthread_rwlock_clockwrlock, c"pthread_rwlock_clockwrlock", lock);
clocked!(pthread_cond_clockwait, c"pthread_cond_clockwait", cond, mutex);
clocked!(pthread_clockjoin_np, c"pthread_clockjoin_np", thread, out);

/// The clock of a condition variable's deadlines.
fn cond_clock(cond: *mut c_void) -> c_int {
    let found = COND_CLOCK.load(Relaxed);
    if found == 0 || cond.is_null() {
        return REALTIME;
    }
    let word = cond.cast::<u32>().wrapping_add((found >> 32) as usize);
    // SAFETY: within the caller's condition variable, as glibc lays it out; other threads may change other bits.
    let word = unsafe { word.read_volatile() };
    if word & found as u32 == 0 {
        REALTIME
    } else {
        MONOTONIC
    }
}

/// Makes a condition variable of each clock, and looks where they differ.
fn find_cond_clock() -> u64 {
    const WORDS: usize = 12;
    // SAFETY: names are NUL-terminated.
    let find = |name: &CStr| unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) };
    let (attr_init, set_clock, init) = (
        find(c"pthread_condattr_init"),
        find(c"pthread_condattr_setclock"),
        find(c"pthread_cond_init"),
    );
    if attr_init.is_null() || set_clock.is_null() || init.is_null() {
        return 0;
    }
    let mut attr = [0_u64; 8];
    let (mut wall, mut monotonic) = ([0_u32; WORDS], [0_u32; WORDS]);
    // SAFETY: the functions are there and of these types; attribute and condition variables have their sizes.
    unsafe {
        let attr_init: unsafe extern "C" fn(*mut u64) -> c_int = core::mem::transmute(attr_init);
        let set_clock: unsafe extern "C" fn(*mut u64, c_int) -> c_int = core::mem::transmute(set_clock);
        let init: unsafe extern "C" fn(*mut u32, *const u64) -> c_int = core::mem::transmute(init);
        if init(wall.as_mut_ptr(), null()) != 0
            || attr_init(attr.as_mut_ptr()) != 0
            || set_clock(attr.as_mut_ptr(), MONOTONIC) != 0
            || init(monotonic.as_mut_ptr(), attr.as_ptr()) != 0
        {
            return 0;
        }
    }
    let mut found = wall
        .iter()
        .zip(&monotonic)
        .enumerate()
        .filter(|(_, (a, b))| a != b);
    match (found.next(), found.next()) {
        (Some((word, (wall, monotonic))), None) if wall & monotonic == *wall => {
            (word as u64) << 32 | u64::from(monotonic & !wall)
        }
        _ => 0,
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_create(id: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let fd = unsafe { next!(c"timerfd_create", fn(c_int, c_int) -> c_int)(id, flags) };
    if let Some(timer) = usize::try_from(fd).ok().and_then(|fd| TIMERS.get(fd)) {
        timer.store(id as u8 + 1, Relaxed);
    }
    fd
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const Itimerspec,
    old: *mut Itimerspec,
) -> c_int {
    let set = next!(
        c"timerfd_settime",
        fn(c_int, c_int, *const Itimerspec, *mut Itimerspec) -> c_int
    );
    let mut room = Itimerspec {
        interval: Timespec { sec: 0, nsec: 0 },
        value: Timespec { sec: 0, nsec: 0 },
    };
    // SAFETY: null or the caller's; our own copy lives as long as the call.
    unsafe { set(fd, flags, timer_deadline(fd, flags, new, &mut room), old) }
}

/// # Safety
/// `new` must be null or point to a timer's setting.
unsafe fn timer_deadline(
    fd: c_int,
    flags: c_int,
    new: *const Itimerspec,
    room: &mut Itimerspec,
) -> *const Itimerspec {
    let timer = usize::try_from(fd).ok().and_then(|fd| TIMERS.get(fd));
    let clock = timer.map_or(0, |timer| timer.load(Relaxed));
    if clock == 0 || flags & ABSOLUTE == 0 || new.is_null() {
        return new;
    }
    // SAFETY: as the caller says, and not null.
    *room = unsafe { *new };
    if room.value.sec == 0 && room.value.nsec == 0 {
        return new;
    }
    room.value = deadline(c_int::from(clock) - 1, room.value);
    room
}

/// Those of the calls above that programs make by hand: Rust's std parks by FUTEX_WAIT_BITSET with an absolute
/// deadline. Variadic in C, which makes no difference to integers on these processors.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    n: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let real = next!(
        c"syscall",
        fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long
    );
    if rules().is_none() {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real(n, a, b, c, d, e, f) };
    }
    let mut room = Timespec { sec: 0, nsec: 0 };
    let mut timer = Itimerspec {
        interval: room,
        value: room,
    };
    // SAFETY: the caller's arguments, each of the type that the call's number says; copies live as long as the call.
    unsafe {
        match n {
            number::CLOCK_GETTIME if b != 0 => {
                let result = real(n, a, b, c, d, e, f);
                // Ours, for a bad pointer must fail as the kernel has it fail.
                if result == 0 {
                    clock_gettime(a as c_int, b as *mut Timespec);
                }
                result
            }
            number::GETTIMEOFDAY | number::TIME => {
                let result = real(n, a, b, c, d, e, f);
                match (result < 0, n) {
                    (true, _) => result,
                    (_, number::GETTIMEOFDAY) => gettimeofday(a as *mut Timeval, null_mut()).into(),
                    _ => time(a as *mut i64),
                }
            }
            number::CLOCK_NANOSLEEP if b as c_int & ABSOLUTE != 0 => {
                let at = deadline_at(a as c_int, c as *const Timespec, &mut room);
                real(n, a, b, at as c_long, d, e, f)
            }
            number::FUTEX => match futex_clock(b as c_int) {
                Some(id) => {
                    let at = deadline_at(id, d as *const Timespec, &mut room);
                    real(n, a, b, c, at as c_long, e, f)
                }
                None => real(n, a, b, c, d, e, f),
            },
            number::TIMERFD_SETTIME => {
                let at = timer_deadline(a as c_int, b as c_int, c as *const Itimerspec, &mut timer);
                real(n, a, b, at as c_long, d, e, f)
            }
            _ => real(n, a, b, c, d, e, f),
        }
    }
}

/// The clock of a futex operation's deadline, where it has an absolute one.
fn futex_clock(operation: c_int) -> Option<c_int> {
    const CLOCK_REALTIME: c_int = 256;
    const COMMAND: c_int = 127;
    match operation & COMMAND {
        // LOCK_PI: the wall clock, always.
        6 => Some(REALTIME),
        // WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2.
        9 | 11 | 13 if operation & CLOCK_REALTIME != 0 => Some(REALTIME),
        9 | 11 | 13 => Some(MONOTONIC),
        _ => None,
    }
}
