//! Exact times from the trace that the official LoadGen writes. It is not valid JSON as a whole, hence line by line.

use std::collections::VecDeque;

/// The content of a trace, in file order, which is call order. Instants are in ns from its origin.
#[derive(Debug, Default)]
pub struct Trace {
    pub samples: VecDeque<Times>,
    pub first_tokens: VecDeque<u64>,
    /// The end of each generation of queries: right after it, a phase starts.
    pub generated_ns: Vec<u64>,
    /// The begin of each turn of the issue loop.
    pub loops_ns: Vec<u64>,
}

/// The times of one completed sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub sequence: u64,
    pub index: u64,
    pub scheduled_ns: u64,
    pub issued_ns: u64,
    pub completed_ns: u64,
}

impl Trace {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut trace = Self::default();
        for line in text.lines() {
            trace.line(line).ok_or_else(|| format!("a line of the trace is not understood: {line}"))?;
        }
        Ok(trace)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let Some(name) = line.strip_prefix("{\"name\":\"").and_then(|rest| rest.split('"').next()) else {
            return Some(());
        };
        match name {
            "Sample" if line.contains("\"ph\":\"b\"") => {
                let scheduled_ns = time_ns(line, "ts")?;
                self.samples.push_back(Times {
                    sequence: number(line, "sample_seq")?,
                    index: number(line, "sample_idx")?,
                    scheduled_ns,
                    issued_ns: scheduled_ns + number(line, "issue_start_ns")?,
                    completed_ns: scheduled_ns + number(line, "complete_ns")?,
                });
            }
            "Token" if line.contains("\"ph\":\"b\"") => {
                self.first_tokens.push_back(time_ns(line, "ts")? + number(line, "complete_ns")?);
            }
            "Token_Latency" => {
                let delay_ns = number(line, "issue_delay")? + number(line, "issue_to_done")?;
                self.first_tokens.push_back(time_ns(line, "ts")? + delay_ns);
            }
            "GenerateQueries" => self.generated_ns.push(time_ns(line, "ts")? + time_ns(line, "dur")?),
            "SampleLoop" => self.loops_ns.push(time_ns(line, "ts")?),
            _ => {}
        }
        Some(())
    }
}

/// The text of a number after its key.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let key = format!("\"{key}\":");
    let start = line.find(&key)? + key.len();
    line[start..].split([',', '}']).next()
}

fn number(line: &str, key: &str) -> Option<u64> {
    value(line, key)?.parse().ok()
}

/// Microseconds with three decimals.
fn time_ns(line: &str, key: &str) -> Option<u64> {
    let (us, ns) = value(line, key)?.split_once('.')?;
    Some(us.parse::<u64>().ok()? * 1000 + ns.parse::<u64>().ok().filter(|_| ns.len() == 3)?)
}

#[test]
fn a_trace_is_read_to_the_nanosecond() {
    let trace = Trace::parse(
        "{\"traceEvents\":[\n\
         {\"name\":\"GenerateQueries\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":71.830,\"dur\":88.433,\"args\":{}},\n\
         {\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"b\",\"pid\":1,\"id\":7,\"ts\":163.191,\"args\":\
         {\"sample_seq\":7,\"query_seq\":3,\"sample_idx\":4,\"issue_start_ns\":5,\"complete_ns\":4099256}},\n\
         {\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"e\", \"pid\":1,\"id\":7,\"ts\":4262.447},\n\
         {\"name\":\"Token_Latency\",\"ph\": \"C\",\"pid\":1,\"ts\":1.000,\"args\":{ \"issue_delay\":2,\"issue_to_done\":30}},\n\
         {\"name\":\"SampleLoop\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":163.118,\"dur\":4.5,\"args\":{}},\n\
         {\"name\":\"LastTrace\"}\n",
    )
    .unwrap();
    let times =
        Times { sequence: 7, index: 4, scheduled_ns: 163_191, issued_ns: 163_196, completed_ns: 4_262_447 };
    assert_eq!(trace.samples, [times]);
    assert_eq!(trace.first_tokens, [1032]);
    assert_eq!((&trace.generated_ns[..], &trace.loops_ns[..]), (&[160_263][..], &[163_118][..]));
    assert!(Trace::parse("{\"name\":\"SampleLoop\",\"ts\":163}").is_err());
}
