//! Systems, as data: what to lay out, start and recognise on some ground.
