//! A plugin in a process of its own that attempts everything forbidden: `attacker_plugin.c` behind the program. Each
//! attempt is refused, or stands in the table of `docs/isolation.md`; no secret is read, nothing is changed, and the
//! plugin's claims about itself are not believed.

mod attempts;
mod early;
mod grants;
mod groups;
mod limits;
mod measured;
mod messages;
mod world;
