//! A model API on loopback: what an agent CLI would ask its provider, answered from a script.

use crate::answer::{Answer, Reply};
use crate::{chat, generate, messages, responses};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How long a test waits for a request before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The API as a server of its own, gone when this is dropped.
pub struct Stub {
    port: u16,
    shared: Arc<Shared>,
}

/// The protocols that are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1beta/models/…:generateContent`, or `:streamGenerateContent`.
    Generate,
}

/// A request for an answer of the model.
#[derive(Clone, Debug)]
pub struct Request {
    /// In which protocol it came.
    pub api: Api,
    /// The key that came with it, as the header gives it.
    pub key: String,
    /// What was asked.
    pub body: Value,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    script: VecDeque<Answer>,
    requests: Vec<Request>,
    strays: Vec<String>,
    /// Requests that hang may go on.
    is_released: bool,
    is_over: bool,
}

impl Stub {
    /// Serves a script: an answer for each request to the model, the last one for ever.
    pub fn start(script: impl IntoIterator<Item = Answer>) -> Stub {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let port = listener
            .local_addr()
            .expect("the listener has a port")
            .port();
        let shared = Arc::new(Shared::default());
        shared.lock().script = script.into_iter().collect();
        let server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if server.lock().is_over {
                    return;
                }
                if let Ok(connection) = connection {
                    let shared = Arc::clone(&server);
                    // A client that has gone away, or was killed, breaks its connection; nobody is to be told.
                    std::thread::spawn(move || shared.serve(&connection));
                }
            }
        });
        Stub { port, shared }
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// The requests to the model, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Other places that were asked for, this being the proxy of its client.
    pub fn strays(&self) -> Vec<String> {
        self.shared.lock().strays.clone()
    }

    /// Waits until so many requests to the model have come.
    pub fn wait_for(&self, count: usize) {
        let waited = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), PATIENCE, |state| {
                state.requests.len() < count
            })
            .expect("no thread of the server panics");
        let seen = waited.0.requests.len();
        assert!(seen >= count, "{seen} requests came, {count} were awaited");
    }

    /// Gives what is left of the script anew.
    pub fn go_on_with(&self, script: impl IntoIterator<Item = Answer>) {
        let mut state = self.shared.lock();
        state.script = script.into_iter().collect();
        state.is_released = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.is_released = true;
        drop(state);
        self.shared.changed.notify_all();
        // The listener waits for one connection more; if none can be made it is gone already.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Request {
    /// All texts of the conversation, in order; what the CLI says of itself in the system prompt is left out.
    pub fn texts(&self) -> Vec<&str> {
        let conversation = match self.api {
            Api::Messages | Api::Chat => &self.body["messages"],
            Api::Generate => &self.body["contents"],
            Api::Responses => &self.body["input"],
        };
        let mut texts = Vec::new();
        collect(conversation, &mut texts);
        texts
    }

    /// Whether a text of the conversation holds this.
    pub fn says(&self, part: &str) -> bool {
        self.texts().iter().any(|text| text.contains(part))
    }
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What was read of an HTTP request.
struct Asked {
    method: String,
    target: String,
    key: String,
    body: Value,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread of the server panics")
    }

    /// Answers one request; each has a connection of its own.
    fn serve(&self, connection: &TcpStream) -> io::Result<()> {
        let asked = read(&mut BufReader::new(connection))?;
        let path = asked.target.split('?').next().unwrap_or_default();
        let api = match (asked.method.as_str(), path) {
            ("POST", "/v1/messages") => Api::Messages,
            ("POST", "/v1/responses") => Api::Responses,
            ("POST", "/v1/chat/completions") => Api::Chat,
            ("POST", path) if path.ends_with("enerateContent") => Api::Generate,
            ("POST", "/v1/messages/count_tokens") => {
                return write(
                    connection,
                    &Reply::json(200, json!({ "input_tokens": 1000 })),
                );
            }
            // A question whether somebody is there.
            ("HEAD", _) => return write(connection, &Reply::json(200, Value::Null)),
            ("GET", "/v1/models") => {
                return write(
                    connection,
                    &Reply::json(200, json!({ "data": [], "models": [] })),
                );
            }
            (method, _) => {
                let stray = format!("{method} {}", asked.target);
                self.lock().strays.push(stray);
                let nothing =
                    json!({ "error": { "type": "not_found_error", "message": "nothing is here" } });
                return write(connection, &Reply::json(404, nothing));
            }
        };
        let tools = asked.body["tools"].as_array();
        let (number, answer) = match tools.is_some_and(|tools| !tools.is_empty()) {
            true => self.record(Request {
                api,
                key: asked.key,
                body: asked.body.clone(),
            }),
            // The CLI wants something for itself, as a title for the conversation.
            false => (0, Answer::text("A title")),
        };
        if matches!(answer, Answer::Hang) {
            self.hang();
            return Ok(());
        }
        let reply = match api {
            Api::Messages => messages::reply(&answer, number, &asked.body),
            Api::Responses => responses::reply(&answer, number, &asked.body),
            Api::Chat => chat::reply(&answer, number, &asked.body),
            Api::Generate => generate::reply(&answer, &asked.body, path.contains(":stream")),
        };
        write(connection, &reply)
    }

    /// Its number, and the answer that is due.
    fn record(&self, request: Request) -> (usize, Answer) {
        let mut state = self.lock();
        state.requests.push(request);
        let number = state.requests.len();
        let answer = match state.script.len() {
            0 | 1 => state.script.front().cloned(),
            _ => state.script.pop_front(),
        };
        self.changed.notify_all();
        (number, answer.unwrap_or_else(|| Answer::text("Done.")))
    }

    fn hang(&self) {
        let released = self
            .changed
            .wait_while(self.lock(), |state| !state.is_released);
        drop(released.expect("no thread of the server panics"));
    }
}

fn read(connection: &mut impl BufRead) -> io::Result<Asked> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let (mut length, mut is_chunked, mut key) = (0, false, String::new());
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(io::Error::other)?,
            "transfer-encoding" => is_chunked = value == "chunked",
            "x-api-key" | "authorization" | "x-goog-api-key" => key = value.to_owned(),
            _ => {}
        }
    }
    let mut body = Vec::new();
    match is_chunked {
        true => read_chunks(connection, &mut body)?,
        false => {
            connection.take(length).read_to_end(&mut body)?;
        }
    }
    Ok(Asked {
        method,
        target,
        key,
        // A body that is no JSON is of no request that is answered.
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

fn read_chunks(connection: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        connection.by_ref().take(length).read_to_end(body)?;
        connection.read_line(&mut line)?;
        if length == 0 {
            return Ok(());
        }
    }
}

fn write(mut connection: &TcpStream, reply: &Reply) -> io::Result<()> {
    match reply {
        Reply::Whole {
            status,
            headers,
            body,
        } => {
            let body = match body {
                Value::Null => String::new(),
                body => body.to_string(),
            };
            write!(
                connection,
                "HTTP/1.1 {status} Stub\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            )?;
            for (name, value) in headers {
                write!(connection, "{name}: {value}\r\n")?;
            }
            write!(connection, "\r\n{body}")
        }
        Reply::Stream { events, is_cut } => {
            write!(
                connection,
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )?;
            for event in events {
                let text = match (event, event["type"].as_str()) {
                    // The end of a stream, which is no JSON.
                    (Value::String(word), _) => format!("data: {word}\n\n"),
                    (event, Some(kind)) => format!("event: {kind}\ndata: {event}\n\n"),
                    (event, None) => format!("data: {event}\n\n"),
                };
                write!(connection, "{:x}\r\n{text}\r\n", text.len())?;
            }
            match is_cut {
                // Without its last chunk the stream is plainly broken off.
                true => Ok(()),
                false => write!(connection, "0\r\n\r\n"),
            }
        }
    }
}
