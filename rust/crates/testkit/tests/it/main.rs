//! The loopback model API, seen from outside: raw HTTP over one socket.

mod messages_api;
