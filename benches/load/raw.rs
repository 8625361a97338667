//! A client that costs next to nothing: requests written in advance, on connections that stay open. What is measured
//! here takes less time than a usual client.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it goes over the wire.
pub type Request = Vec<u8>;

/// A connection that stays open.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A request with a header that says who asks, and with a body if there is one.
pub fn request(method: &str, path: &str, header: (&str, &str), body: &str) -> Request {
    let (name, value) = header;
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\n{name}: {value}\r\n{kind}content-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Where a server listens.
pub fn address(url: &str) -> Result<SocketAddr> {
    let url = Url::parse(url)?;
    let address = url.socket_addrs(|| None)?;
    address.first().copied().with_context(|| format!("{url} leads nowhere"))
}

impl Connection {
    /// Opens a connection.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 << 10) })
    }

    /// Sends a request and reads the answer, which must be a success. Gives its body.
    pub async fn send(&mut self, request: &Request) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (start, end) = loop {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the server hung up");
            let Some(head) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            let text = std::str::from_utf8(&self.buffer[..head])?;
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let end = head + 4 + length.context("an answer without a length")?;
            if self.buffer.len() >= end {
                break (head + 4, end);
            }
        };
        let is_success = self.buffer.starts_with(b"HTTP/1.1 2");
        ensure!(is_success, "{}", String::from_utf8_lossy(&self.buffer));
        Ok(&self.buffer[start..end])
    }
}
