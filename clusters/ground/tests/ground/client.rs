//! The harness's client of a node's program.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrIn, sockopt};

use crate::app::PORT;

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: Ipv4Addr, patience: Duration) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&SocketAddrV4::new(address, PORT).into(), patience)?;
        Client::over(stream, patience)
    }

    /// From the observer's address, over its own links.
    pub fn observe(address: Ipv4Addr, patience: Duration) -> io::Result<Client> {
        let socket: OwnedFd = socket::socket(
            AddressFamily::Inet,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        socket::setsockopt(&socket, sockopt::BindToDevice, &"observer".into())?;
        let time =
            nix::sys::time::TimeVal::new(patience.as_secs() as i64, i64::from(patience.subsec_micros()));
        socket::setsockopt(&socket, sockopt::SendTimeout, &time)?;
        socket::connect(
            socket.as_raw_fd(),
            &SockaddrIn::from(SocketAddrV4::new(address, PORT)),
        )?;
        Client::over(TcpStream::from(socket), patience)
    }

    fn over(stream: TcpStream, patience: Duration) -> io::Result<Client> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Client(BufReader::new(stream)))
    }

    pub fn local(&self) -> std::net::IpAddr {
        self.0.get_ref().local_addr().unwrap().ip()
    }

    /// A question whose answer is not waited for.
    pub fn say(&mut self, question: &str) -> io::Result<()> {
        self.0.get_mut().write_all(format!("{question}\n").as_bytes())
    }

    /// Bytes that were sent and that the other's kernel has not acknowledged.
    pub fn unacknowledged(&self) -> i32 {
        let mut bytes = 0;
        // SAFETY: SIOCOUTQ writes a number.
        let told = unsafe { libc::ioctl(self.0.get_ref().as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
        assert_eq!(told, 0, "{}", io::Error::last_os_error());
        bytes
    }

    pub fn ask(&mut self, question: &str) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{question}\n").as_bytes())?;
        self.hear()
    }

    pub fn hear(&mut self) -> io::Result<String> {
        let mut answer = String::new();
        match self.0.read_line(&mut answer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(answer.trim_end().to_string()),
        }
    }

    /// Whether nothing at all comes for so long: no byte, no end, no reset.
    pub fn is_silent_for(&mut self, time: Duration) -> bool {
        self.0.get_ref().set_read_timeout(Some(time)).unwrap();
        let heard = self.hear();
        heard.is_err_and(|error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
    }
}

/// Waits until the program answers.
pub fn await_answer(address: Ipv4Addr) -> Client {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let answered = Client::connect(address, Duration::from_millis(200)).and_then(|mut client| {
            client.ask("echo hello")?;
            Ok(client)
        });
        match answered {
            Ok(client) => return client,
            Err(error) if Instant::now() > deadline => panic!("{address} does not answer: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
