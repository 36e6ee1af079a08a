//! Integration tests of the dashboard: a page under attack, and histories that audit streams tell.
#![cfg(target_os = "linux")]

mod attacks;
mod history;
mod results;
