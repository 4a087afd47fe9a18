//! Kafka histories, literally: every rule by its definition, quadratic or worse.

pub mod decode;
pub mod make;
pub mod mutate;
pub mod rules;

pub use make::make;
pub use mutate::mutate;
pub use rules::counts;
