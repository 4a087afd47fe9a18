//! One replica of a partition, sans-IO: high watermark, ISR, divergence.
