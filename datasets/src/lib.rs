//! Reads data sets in their on-disk formats and keeps samples in RAM as the query sample library.
