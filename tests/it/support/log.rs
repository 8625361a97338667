//! What is logged while a test runs.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

/// Everything that was logged in one test.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Until it is dropped, what the test's own thread says is kept.
pub struct Listening {
    log: Log,
    _guard: DefaultGuard,
    _second: tracing::Dispatch,
}

impl Log {
    /// Keeps all that is logged from now on, at the most talkative level.
    pub fn listen() -> Listening {
        let log = Self::default();
        let subscriber =
            tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
        let guard = tracing::subscriber::set_default(subscriber);
        // While there is just one subscriber, an event that first happens on another thread, which has none, is taken
        // for one that nobody will ever want.
        let second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
        Listening { log, _guard: guard, _second: second }
    }
}

impl Listening {
    /// What was said, to the end.
    pub fn end(self) -> String {
        let text = self.log.0.lock().unwrap();
        String::from_utf8(text.clone()).unwrap()
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
