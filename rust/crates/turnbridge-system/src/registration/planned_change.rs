//! Plans a change of another program's file, returns it as a diff for the user, and makes it.

use std::path::Path;

use anyhow::Result;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::line_diff::diff;
use turnbridge_core::text::texts::Language;
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_store::foreign::foreign_file::{AppliedText, Current, FileChange, OriginalFile};

use super::{explain, refused};
use crate::wsl::TargetFile;

/// The text of the file from which a change may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Only the text that was shown, because the user has agreed to no other.
    Shown,
    /// Any text that the file has when the change is made.
    Latest,
}

/// A function of the file's current text; it may be called more than once.
type FromCurrent<'a, T> = Box<dyn Fn(&Current) -> Result<T, String> + 'a>;

type ChangeStep<'a> = Box<dyn Fn() -> Result<()> + 'a>;

/// How the new text is made.
pub(super) enum Edit<'a> {
    Apply {
        with_us: FromCurrent<'a, String>,
        /// Called only when the change is made, after the step of `before_replacing`.
        without_us: FromCurrent<'a, String>,
    },
    /// Makes the text without Turnbridge's entries; used if other programs changed the file later.
    Remove(FromCurrent<'a, String>),
    /// Restores the backup.
    Restore,
}

/// A planned change of one file, with the steps before and after it.
pub struct PlannedChange<'a> {
    target_file: TargetFile<'a>,
    shown: Current,
    after: Option<String>,
    edit: Edit<'a>,
    before_everything: Option<ChangeStep<'a>>,
    before_replacing: Option<FromCurrent<'a, ()>>,
    afterwards: Option<ChangeStep<'a>>,
}

impl<'a> PlannedChange<'a> {
    pub(super) fn new(target_file: TargetFile<'a>, edit: Edit<'a>) -> Result<PlannedChange<'a>> {
        let file = &target_file.file;
        let failed = |failure| explain::<String>(failure, file.path());
        let shown = file.current().map_err(failed)?;
        let after = match &edit {
            Edit::Apply { with_us, .. } => with_us(&shown).map(Some),
            Edit::Remove(plan) => removed(plan, &shown),
            Edit::Restore => Ok(Some(file.backup().map_err(failed)?)),
        };
        let after = after.map_err(|reason| refused(&reason, file.path()))?;
        Ok(PlannedChange {
            target_file,
            shown,
            after,
            edit,
            before_everything: None,
            before_replacing: None,
            afterwards: None,
        })
    }

    /// Adds a step before anything else.
    pub(super) fn before_everything(mut self, step: impl Fn() -> Result<()> + 'a) -> Self {
        self.before_everything = Some(Box::new(step));
        self
    }

    /// Adds a step that writes to the disk before the file is replaced.
    pub(super) fn before_replacing(
        mut self,
        keep: impl Fn(&Current) -> Result<(), String> + 'a,
    ) -> Self {
        self.before_replacing = Some(Box::new(keep));
        self
    }

    /// Adds a step after the change.
    pub(super) fn afterwards(mut self, step: impl Fn() -> Result<()> + 'a) -> Self {
        self.afterwards = Some(Box::new(step));
        self
    }

    pub fn path(&self) -> &Path {
        self.target_file.file.path()
    }

    /// Returns `None` if there is no file.
    pub fn before(&self) -> Option<&str> {
        self.shown.text.as_deref()
    }

    /// Returns `None` if the file will be deleted.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    pub fn changes_nothing(&self) -> bool {
        self.before() == self.after()
    }

    /// Returns the change line by line; empty if nothing changes.
    pub fn diff(&self) -> String {
        shown_diff(self.path(), self.before(), self.after())
    }

    /// Makes the change. Returns an error if the file has changed and `basis` does not accept that;
    /// restoring the backup ignores `basis`.
    pub fn make(&self, basis: Basis) -> Result<FileChange> {
        self.before_everything.as_ref().map_or(Ok(()), |step| step())?;
        let file = &self.target_file.file;
        let change = match &self.edit {
            Edit::Apply { with_us, without_us } => file.apply(|current| {
                self.check(basis, current)?;
                self.before_replacing.as_ref().map_or(Ok(()), |keep| keep(current))?;
                Ok(AppliedText { text: with_us(current)?, without_us: without_us(current)? })
            }),
            Edit::Remove(plan) => file.remove(|current| {
                self.check(basis, current)?;
                plan(current)
            }),
            Edit::Restore => file.restore(),
        };
        let change = change.map_err(|failure| explain(failure, file.path()))?;
        self.afterwards.as_ref().map_or(Ok(()), |step| step())?;
        self.target_file.settle(change)?;
        Ok(change)
    }

    fn check(&self, basis: Basis, now: &Current) -> Result<(), String> {
        match basis == Basis::Latest || self.shown.text == now.text {
            true => Ok(()),
            false => Err("the file has changed since it was shown".to_owned()),
        }
    }
}

/// Returns the diff with masked tokens, because other programs store tokens in their files too.
pub fn shown_diff(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let path = visible_line(&path.display().to_string()).into_owned();
    without_tokens(&diff(&path, before.unwrap_or_default(), after.unwrap_or_default())).into_owned()
}

/// Returns the message that the file has no entry of Turnbridge to remove.
pub fn nothing_of_ours(path: &Path) -> String {
    format!("there is nothing of ours in `{}`", path.display())
}

/// Returns the outcome of a change in words.
pub fn outcome_text(language: Language, change: FileChange, path: &Path) -> String {
    let text = match change {
        FileChange::Unchanged => SetupText::IsAsItShouldBe,
        FileChange::Written => SetupText::Changed,
        FileChange::Deleted => SetupText::Deleted,
    };
    text.filled(language, &[&path.display().to_string()])
}

/// Returns the text after the removal; the inner `None` means that the file will be deleted.
fn removed(plan: &FromCurrent<'_, String>, current: &Current) -> Result<Option<String>, String> {
    match (&current.text, &current.before) {
        (None, _) => Ok(None),
        (_, Some(OriginalFile { text, is_untouched: true })) => Ok(text.clone()),
        _ => plan(current).map(Some),
    }
}
