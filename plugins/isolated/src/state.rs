//! The process of a plugin, and those that take its place.

use std::{
    io, mem,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Acquire, Relaxed},
        },
    },
    time::Duration,
};

use parking_lot::Mutex;
use proctor_plugin_api::{Host, ModelRequest, PluginError};

use crate::{
    child::{Child, makes_no_sense},
    launch::{Hook, Hooks, Launch},
    protocol::{Answer, Code, Description, Fence, Opening, Request, Restrictions},
};

/// The process of a plugin, shared by all objects of the stand-in plugin.
pub(crate) struct State {
    launch: Launch,
    /// The plugin as the first process described it.
    description: OnceLock<Description>,
    hooks: Arc<Hooks>,
    /// Parts of the machine that the process may use.
    fence: Mutex<Fence>,
    /// The restrictions of the first process; every later one must have all of them.
    restrictions: Restrictions,
    child: Mutex<Arc<Child>>,
    host: OnceLock<Host>,
    opening: OnceLock<Opening>,
    model: Mutex<Option<ModelRequest>>,
    /// Whether rooms for outputs are marked.
    marks_outputs: AtomicBool,
    /// Number of instances that were not ended yet, in any process.
    pub(crate) instance_count: AtomicUsize,
}

impl State {
    /// Starts the process, without a plugin.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub(crate) fn start(launch: Launch, fence: Fence) -> io::Result<Self> {
        let hooks = Arc::new(Hooks::default());
        let child = Child::start(&launch, fence.clone(), Arc::clone(&hooks))?;
        Ok(Self {
            launch,
            description: OnceLock::new(),
            hooks,
            fence: Mutex::new(fence),
            restrictions: child.restrictions(),
            child: Mutex::new(child),
            host: OnceLock::new(),
            opening: OnceLock::new(),
            model: Mutex::default(),
            marks_outputs: AtomicBool::new(false),
            instance_count: AtomicUsize::new(0),
        })
    }

    /// Loads the plugin in the process.
    ///
    /// # Errors
    /// Returns the reason why it cannot be loaded.
    pub(crate) fn load(&self) -> Result<&Description, PluginError> {
        let description = load(&self.child(), &self.launch.code)?;
        self.keep(description)
    }

    /// Keeps the description by the first process, on which the host relies. A later process must give the same one.
    ///
    /// # Errors
    /// If it is another one.
    fn keep(&self, description: Description) -> Result<&Description, PluginError> {
        let known = self.description.get_or_init(|| description.clone());
        if description == *known {
            return Ok(known);
        }
        Err(PluginError::failed(
            "it describes itself in another way than before: its library was changed while it was in use, or what it \
             says depends on more than its library",
        ))
    }

    /// Replaces the process, whose plugin is not open yet, by one with another fence.
    ///
    /// # Errors
    /// Returns the reason why it cannot load the plugin.
    pub(crate) fn restart_within(&self, fence: Fence) -> Result<(), PluginError> {
        let old = self.child();
        let child = Child::start(&self.launch, fence.clone(), Arc::clone(&self.hooks))?;
        let checked = self.check_restrictions(&child);
        *self.child.lock() = child;
        old.close();
        *self.fence.lock() = fence;
        checked?;
        self.load().map(drop)
    }

    /// Returns the parts of the machine that the process may use.
    pub(crate) fn fence(&self) -> Fence {
        self.fence.lock().clone()
    }

    /// Returns the restrictions that hold for the process, and for every one that took its place.
    pub(crate) fn restrictions(&self) -> Restrictions {
        self.restrictions
    }

    fn check_restrictions(&self, child: &Child) -> Result<(), PluginError> {
        let (first, later) = (self.restrictions, child.restrictions());
        if later.include(&first) {
            return Ok(());
        }
        Err(PluginError::failed(format!(
            "its fresh process is less restricted than the first one was: {later:?} in place of {first:?}"
        )))
    }

    /// Returns the plugin.
    pub(crate) fn code(&self) -> &Code {
        &self.launch.code
    }

    /// Sets the hooks: `notes` also receives the notes that came before, and `end` the reason when a process ends.
    pub(crate) fn listen(&self, notes: Hook<[u8]>, end: Hook<str>, over: Box<dyn Fn() + Send + Sync>) {
        let early = mem::take(&mut *self.hooks.early.lock());
        early.iter().for_each(|early| notes(early));
        let _ = (self.hooks.notes.set(notes), self.hooks.end.set(end), self.hooks.over.set(over));
    }

    /// Returns the process, which may have ended.
    pub(crate) fn child(&self) -> Arc<Child> {
        Arc::clone(&self.child.lock())
    }

    pub(crate) fn spin(&self) -> Duration {
        self.launch.spin
    }

    pub(crate) fn takes_several_queries(&self) -> bool {
        self.description.get().is_some_and(|description| description.manifest.concurrent_issue)
    }

    pub(crate) fn open(&self, host: Host, opening: Opening) -> Result<(), PluginError> {
        let child = self.child();
        child.serve(host);
        let request = Request::Open(opening.clone());
        let _ = (self.host.set(host), self.opening.set(opening));
        child.ask(&request, &[]).map(drop)
    }

    pub(crate) fn load_model(&self, request: &ModelRequest) -> Result<(), PluginError> {
        self.child().ask(&Request::LoadModel(request.clone()), &[])?;
        *self.model.lock() = Some(request.clone());
        Ok(())
    }

    /// Turns the marking of rooms for outputs on or off, in the process and in each that takes its place.
    ///
    /// # Errors
    /// Returns how it has ended.
    pub(crate) fn mark_outputs(&self, are_marked: bool) -> Result<(), PluginError> {
        self.marks_outputs.store(are_marked, Relaxed);
        self.child().ask(&Request::MarkOutputs(are_marked), &[]).map(drop)
    }

    pub(crate) fn unload_model(&self) {
        *self.model.lock() = None;
        // The notes report the plugin's errors.
        let _ = self.child().ask_to_end(&Request::UnloadModel);
    }

    pub(crate) fn close(&self) {
        let child = self.child();
        // The notes report the plugin's errors.
        let _ = child.ask_to_end(&Request::Close);
        child.close();
    }

    /// Returns the process, or, if it has ended, a replacement in the same state: its plugin is opened, and the model
    /// loaded.
    ///
    /// # Errors
    /// If the process has ended and some of its instances are in use, or the other one cannot come as far.
    pub(crate) fn fresh_child(&self) -> Result<Arc<Child>, PluginError> {
        let mut place = self.child.lock();
        if !place.has_ended() {
            return Ok(Arc::clone(&place));
        }
        if self.instance_count.load(Acquire) > 0 {
            return Err(place.end_with_call_error());
        }
        let fence = self.fence.lock().clone();
        let child = Child::start(&self.launch, fence, Arc::clone(&self.hooks))?;
        if let Some(host) = self.host.get() {
            child.serve(*host);
        }
        // Kept at once: what goes wrong in it is known by it.
        *place = Arc::clone(&child);
        drop(place);
        // One that has not come as far is of no use to anybody.
        self.bring_up(&child).inspect_err(|_| child.close())?;
        Ok(child)
    }

    fn bring_up(&self, child: &Child) -> Result<(), PluginError> {
        self.check_restrictions(child)?;
        let name = &self.keep(load(child, &self.launch.code)?)?.manifest.name;
        if let Some(opening) = self.opening.get() {
            child.ask(&Request::Open(opening.clone()), &[])?;
        }
        let model = self.model.lock().clone();
        if let Some(model) = model {
            child.ask(&Request::LoadModel(model), &[])?;
            child.ask(&Request::MarkOutputs(self.marks_outputs.load(Relaxed)), &[])?;
        }
        tracing::info!(target: "plugin", plugin = name, "runs in a fresh process");
        Ok(())
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.child().close();
    }
}

fn load(child: &Child, code: &Code) -> Result<Description, PluginError> {
    match child.ask(&Request::Load(code.clone()), &[])? {
        Answer::Loaded(description) => Ok(*description),
        _ => Err(makes_no_sense()),
    }
}
