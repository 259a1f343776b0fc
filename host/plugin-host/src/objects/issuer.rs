//! Issuing threads, and each one's part of a model.

use std::sync::{Arc, Mutex, PoisonError};

use proctor_plugin_api::vocabulary::QueryPart;

use crate::{
    call::Call,
    error::PluginHostError,
    guard::{activity::Activity, checked::checked},
    load::table::IssueFunction,
    objects::{
        model::{Model, ModelInner, State},
        query::raw_query,
    },
};

/// An issuing thread's hand on a model.
///
/// Each thread has its own, so that a report says what each of them was doing, and none writes where another does.
pub struct Issuer {
    model: Arc<ModelInner>,
    issue: IssueFunction,
    activity: &'static Activity,
    /// Held during a call if several threads issue to a plugin that takes one call at a time.
    turn: Option<Arc<Mutex<()>>>,
}

impl Model {
    /// Returns a handle for each issuing thread of a test. The threads take turns, unless the plugin says that it takes
    /// several queries at the same time. [main thread]
    ///
    /// # Errors
    /// No issue extension, or another thread.
    pub fn issuers(&self, count: usize) -> Result<Vec<Issuer>, PluginHostError> {
        self.inner.expect_home(Call::Issue)?;
        let issue = self.inner.table().issue.ok_or_else(|| self.inner.not_declared("whole queries"))?;
        let takes_turns = count > 1 && !self.inner.backend.library.manifest().concurrent_issue;
        let turn = takes_turns.then(Arc::default);
        let issuer = |_| {
            let plugin = self.inner.backend.plugin();
            let spare = self.inner.spare_activities.lock().pop();
            let activity = spare.unwrap_or_else(|| {
                let activity = Activity::new(plugin, None);
                self.inner.issue_activities.lock().push(activity);
                activity
            });
            Issuer { model: Arc::clone(&self.inner), issue, activity, turn: turn.clone() }
        };
        Ok((0..count).map(issuer).collect())
    }
}

impl Issuer {
    /// Hands a query, or a part of one, to the plugin, which completes it through the sink. [issuing thread]
    ///
    /// # Errors
    /// Fails for a wrong state, or the plugin's refusal: then the caller fails every sample that was not completed yet,
    /// or issues the query again if the plugin [is busy](PluginHostError::is_busy).
    #[inline]
    pub fn issue(&self, part: QueryPart<'_>) -> Result<(), PluginHostError> {
        let Self { model, issue, activity, turn } = self;
        model.expect(Call::Issue, &[State::Running])?;
        if let Some(first) = part.samples.first() {
            activity.set_first_sample(first.index.0);
        }
        let query = raw_query(part);
        let _turn = turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        checked(activity, Call::Issue, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live; the query lives for the call.
            unsafe { issue(model.raw(), &raw const query, error) }
        })
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        // An activity lives for ever, so the next test has it again.
        self.model.spare_activities.lock().push(self.activity);
    }
}
