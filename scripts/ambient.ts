import { codeOnly, type SourceFile } from "./sourceFiles.ts";

/** Time, chance, timers and output that reach around the ports. */
const DENIED: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["Date.now", /\bDate\.now\b/],
  ["new Date() of the present", /\bnew Date\(\s*\)/],
  ["performance.now", /\bperformance\.now\b/],
  ["process.hrtime", /\bprocess\.hrtime\b/],
  ["Math.random", /\bMath\.random\b/],
  ["random bytes", /\b(?:getRandomValues|randomBytes|randomFillSync|randomUUID|randomInt)\b/],
  ["a timer", /\bset(?:Timeout|Interval|Immediate)\b/],
  ["AbortSignal.timeout", /\bAbortSignal\.timeout\b/],
  ["console", /\bconsole\./],
];

/** Where the real ones are wrapped, the programs around the node, and tests of adapters, which wait for real sockets. */
const ALLOWED = [
  /^src\/adapters\/(?:system|virtualClock)\//,
  /^src\/(?:main|devnet)\//,
  /^src\/chain\/main\.ts$/,
  // The simulator's programs, and its search for a smaller schedule, live in real time; its worlds do not.
  /^sim\/(?:main|soak)\.ts$/,
  /^sim\/run\/shrink\.ts$/,
  /^src\/adapters\/.*\.test\.ts$/,
];

/** Uses of what only `Clock`, `Rng` and `Log` may give. Other tests are held to it too: they must not sleep, but may print their seed. */
export function ambientProblems(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => !ALLOWED.some((folder) => folder.test(file.path)))
    .flatMap((file) => {
      const denied = DENIED.filter(([what]) => what !== "console" || !file.path.endsWith(".test.ts"));
      const lines = codeOnly(file.text).split("\n");
      return lines.flatMap((line, i) =>
        denied.filter(([, pattern]) => pattern.test(line)).map(([what]) => `${file.path}:${i + 1}: ${what} outside adapters/system`),
      );
    });
}
