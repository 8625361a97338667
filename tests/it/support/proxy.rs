//! The way between a server and a service, which can be cut, closed and blocked.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A proxy in front of a service on this machine. Ends when it is dropped.
pub struct Proxy {
    /// Where it listens.
    pub port: u16,
    way: Arc<watch::Sender<Way>>,
    accepting: JoinHandle<()>,
}

/// What becomes of connections. They are numbered as they come.
#[derive(Debug, Default)]
struct Way {
    /// The number of the next connection.
    next: u64,
    /// New connections are closed at once.
    is_closed: bool,
    /// Nothing passes; both ends stay open.
    is_blocked: bool,
    /// Requests pass, answers do not.
    is_mute: bool,
    /// Nothing passes on connections with a smaller number, for good.
    stranded: u64,
    /// Connections with a smaller number are closed.
    cut: u64,
}

impl Proxy {
    /// Starts in front of the service at a port.
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let way = Arc::new(watch::Sender::new(Way::default()));
        let accepting = tokio::spawn(accept(listener, target, Arc::clone(&way)));
        Self { port, way, accepting }
    }

    /// The URL of the service, led through here.
    pub fn lead(&self, url: &str) -> String {
        let mut url = reqwest::Url::parse(url).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.port)).unwrap();
        url.to_string()
    }

    /// Closes all connections; new ones are welcome.
    pub fn cut(&self) {
        self.way.send_modify(|way| way.cut = way.next);
    }

    /// Closes all connections, and new ones as they come.
    pub fn close(&self) {
        self.way.send_modify(|way| (way.is_closed, way.cut) = (true, way.next));
    }

    /// Lets nothing through and says nothing, like a firewall.
    pub fn block(&self) {
        self.way.send_modify(|way| way.is_blocked = true);
    }

    /// Lets requests through, and no answers.
    pub fn mute(&self) {
        self.way.send_modify(|way| way.is_mute = true);
    }

    /// Leaves all connections hanging for good, as after a failover; new ones are welcome.
    pub fn strand(&self) {
        self.way.send_modify(|way| (way.is_blocked, way.stranded) = (false, way.next));
    }

    /// Takes connections again, and lets everything through that is not stranded.
    pub fn open(&self) {
        self.way.send_modify(|way| (way.is_closed, way.is_blocked, way.is_mute) = (false, false, false));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: u16, way: Arc<watch::Sender<Way>>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let mut number = None;
        way.send_if_modified(|way| {
            number = (!way.is_closed).then_some(way.next);
            way.next += 1;
            false
        });
        if let Some(number) = number {
            tokio::spawn(serve(client, target, number, way.subscribe()));
        }
    }
}

async fn serve(client: TcpStream, target: u16, number: u64, mut way: watch::Receiver<Way>) {
    let mut cut = way.clone();
    let pass = async {
        way.wait_for(|way| way.passes(number)).await.ok()?;
        let (from_client, to_client) = client.into_split();
        let (from_service, to_service) = TcpStream::connect(("127.0.0.1", target)).await.ok()?.into_split();
        tokio::select! {
            () = pump(from_client, to_service, way.clone(), |way| way.passes(number)) => {}
            () = pump(from_service, to_client, way.clone(), |way| way.passes(number) && !way.is_mute) => {}
        }
        Some(())
    };
    tokio::select! {
        _ = pass => {}
        _ = cut.wait_for(|way| way.cut > number) => {}
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut way: watch::Receiver<Way>,
    passes: impl Fn(&Way) -> bool,
) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(size @ 1..) = from.read(&mut buffer).await else { return };
        if way.wait_for(&passes).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}

impl Way {
    fn passes(&self, number: u64) -> bool {
        !self.is_blocked && number >= self.stranded.max(self.cut)
    }
}
