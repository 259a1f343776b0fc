//! A plugin in a process of its own that tries whatever is none of its business: `attacker_plugin.c` behind the
//! program. Each attempt is refused, or stands in the table of `docs/isolation.md`; no secret is read, nothing is
//! changed, and what the plugin says of itself is not believed.

mod attempts;
mod early;
mod grants;
mod groups;
mod limits;
mod measured;
mod messages;
mod world;
