//! Formats the findings as text and as JSON (docs/schemas/doctor.schema.json).

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{Area, Finding, Severity, counted};
use super::repair::Repaired;
use super::worst;

/// Formats one line for each working area, and three for each problem.
pub fn as_text(findings: &[Finding], repaired: &[Repaired]) -> String {
    let mut text = String::new();
    for Repaired { what, result, .. } in repaired {
        let _ = match result {
            Ok(()) => writeln!(text, "fixed    {what}"),
            Err(reason) => writeln!(text, "failed   {what}: {reason}"),
        };
    }
    if !repaired.is_empty() {
        text.push('\n');
    }
    for of_area in findings.chunk_by(|a, b| a.area == b.area) {
        let well = of_area.iter().filter(|finding| finding.severity == Severity::Ok);
        let well: Vec<_> = well.map(|finding| finding.what.as_str()).collect();
        if !well.is_empty() {
            push(&mut text, Severity::Ok.as_str(), Some(of_area[0].area), &well.join("; "));
        }
        for finding in of_area.iter().filter(|finding| finding.severity != Severity::Ok) {
            push(&mut text, finding.severity.as_str(), Some(finding.area), &finding.what);
            for (name, line) in [("why", &finding.why), ("fix", &finding.fix)] {
                if let Some(line) = line {
                    push(&mut text, "", None, &format!("{name}: {line}"));
                }
            }
        }
    }
    let _ = writeln!(text, "\n{}", summary(findings));
    text
}

fn push(text: &mut String, severity: &str, area: Option<Area>, what: &str) {
    let area = area.map_or("", Area::as_str);
    let _ = writeln!(text, "{severity:<8} {area:<12} {what}");
}

fn summary(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = [
        (count(Severity::Error), "error", "errors"),
        (count(Severity::Warning), "warning", "warnings"),
        (count(Severity::Note), "note", "notes"),
    ];
    let counts: Vec<_> = counts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, several)| counted(count, one, several))
        .collect();
    if counts.is_empty() { "all is well".to_owned() } else { counts.join(", ") }
}

pub fn as_json(findings: &[Finding], repaired: &[Repaired]) -> String {
    let findings_json: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "id": finding.id,
                "area": finding.area.as_str(),
                "severity": finding.severity.as_str(),
                "what": finding.what,
                "why": finding.why,
                "fix": finding.fix,
                "repairable": finding.repair.is_some(),
            })
        })
        .collect();
    let repaired: Vec<Value> = repaired
        .iter()
        .map(|Repaired { ids, what, result }| {
            json!({"findings": ids, "what": what, "error": result.as_ref().err()})
        })
        .collect();
    json!({
        "version": 1,
        "worst": worst(findings).as_str(),
        "findings": findings_json,
        "repairs": repaired,
    })
    .to_string()
}

/// Formats an age for users.
pub fn ago(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} ago", counted((seconds / 86_400) as usize, "day", "days")),
    }
}
