/** A vitest JSON report, as `unknown` until read. */
export type Report = { readonly suite: string; readonly json: unknown };

export type CiResult = { readonly passed: number; readonly failed: readonly string[]; readonly skipped: readonly string[] };

/** Suites that must have run at least one test: a runner that finds nothing reports nothing wrong. */
const REQUIRED = ["unit", "fuzz", "slow"];
/** What a test over the shared data says in its name when it is missing. In CI it never is. */
const NO_SHARED_DATA = "skipped: no shared data";

/** Of a run elsewhere only the summary may be kept: it has to say enough to begin with. */
const MAX_REASON = 400;

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } => typeof value === "object" && value !== null;
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What a failed test said, without the stack, on one line; empty when it said nothing. */
function reason(messages: unknown): string {
  const text = list(messages)
    .map((message) => String(message).split("\n    at ")[0])
    .join("; ")
    .replaceAll(/\s+/g, " ");
  return text === "" ? "" : `: ${text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text}`;
}

/** Adds up test reports and named steps. A skipped test is named; one skipped for want of shared data counts as failed. */
export function summarise(
  reports: readonly Report[],
  stepsPassed: readonly string[],
  stepsFailed: readonly string[],
  suitesFailed: readonly string[] = [],
): CiResult {
  let passed = stepsPassed.length;
  const failed = [...stepsFailed];
  const skipped: string[] = [];
  for (const { suite, json } of reports) {
    let ran = 0;
    for (const file of list(isRecord(json) ? json.testResults : undefined)) {
      if (!isRecord(file)) continue;
      const tests = list(file.assertionResults).filter(isRecord);
      if (file.status === "failed" && !tests.some((t) => t.status === "failed"))
        failed.push(`${suite}: ${String(file.name)} could not be run${reason([file.message ?? ""])}`);
      for (const t of tests) {
        const name = `${suite}: ${String(t.fullName)}`;
        if (t.status === "passed") passed++;
        else if (t.status === "failed") failed.push(name + reason(t.failureMessages));
        else if (name.includes(NO_SHARED_DATA)) failed.push(name);
        else skipped.push(name);
        if (t.status === "passed" || t.status === "failed") ran++;
      }
    }
    if (ran === 0) failed.push(`${suite}: no test was run`);
  }
  for (const suite of REQUIRED) {
    if (!reports.some((r) => r.suite === suite) && !failed.some((f) => f.startsWith(`${suite}:`))) failed.push(`${suite}: no report`);
  }
  for (const suite of suitesFailed) {
    if (!failed.some((f) => f.startsWith(`${suite}:`)))
      failed.push(`${suite}: the runner failed, though no test did (an error outside the tests)`);
  }
  return { passed, failed, skipped };
}

/** The test files that took longest, the longest first: a suite, a file below `root`, whole seconds. */
export function longest(reports: readonly Report[], root: string, most: number): readonly string[] {
  const files = reports.flatMap(({ suite, json }) =>
    list(isRecord(json) ? json.testResults : undefined).flatMap((file) => {
      if (!isRecord(file) || typeof file.startTime !== "number" || typeof file.endTime !== "number") return [];
      return [{ name: `${suite}: ${String(file.name).replace(`${root}/`, "")}`, seconds: (file.endTime - file.startTime) / 1_000 }];
    }),
  );
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, most);
  return slowest.map(({ name, seconds }) => `${name}, ${Math.round(seconds)} s`);
}

export const failure = (result: CiResult): boolean => result.failed.length > 0 || result.passed === 0;
