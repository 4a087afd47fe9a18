//! stub
use crate::config::Config; use crate::node::Home; use crate::failure::Failure; use tokio::sync::watch;
/// x
pub async fn run(_config: Config, _home: Home, _stop: watch::Receiver<bool>) -> Result<(), Failure> { Ok(()) }
