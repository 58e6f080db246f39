/** One line of a node's log, read. */
export type LogLine = { readonly event: string; readonly [field: string]: unknown };

type Listener = (line: LogLine) => void;

/** Lines kept of each node. */
const KEPT = 2_000;
/** A swap comes to each of its steps well within this, also where other tests run beside it. */
const WAIT_MS = 120_000;

/** What the nodes of a network log, as it comes. */
export class NodeLogs {
  readonly #lines = new Map<string, string[]>();
  readonly #listeners = new Map<string, Set<Listener>>();

  add(node: string, text: string): void {
    const lines = this.#lines.get(node) ?? [];
    this.#lines.set(node, lines);
    lines.push(text);
    if (lines.length > KEPT) lines.shift();
    const line = parse(text);
    if (line) for (const listener of [...(this.#listeners.get(node) ?? [])]) listener(line);
  }

  names(): readonly string[] {
    return [...this.#lines.keys()];
  }

  tail(node: string, count: number): readonly string[] {
    return this.#lines.get(node)?.slice(-count) ?? [];
  }

  /** What is kept of the lines that have all these fields, oldest first. */
  all(node: string, fields: Readonly<Record<string, unknown>>): readonly LogLine[] {
    const lines = (this.#lines.get(node) ?? []).map(parse);
    return lines.filter((line) => line !== null && hasAll(line, fields)) as LogLine[];
  }

  /**
   * The first line from now on that has all these fields, a text matching where a pattern stands. `act` runs in the same turn, so a
   * process killed in it has come no further. Rejects when none comes in time.
   */
  next(node: string, fields: Readonly<Record<string, unknown>>, act: () => void = () => undefined): Promise<LogLine> {
    const found = new Promise<LogLine>((resolve, reject) => {
      const listeners = this.#listeners.get(node) ?? new Set();
      this.#listeners.set(node, listeners);
      const listener: Listener = (line) => {
        if (!hasAll(line, fields)) return;
        clearTimeout(timer);
        listeners.delete(listener);
        act();
        resolve(line);
      };
      const timer = setTimeout(() => {
        listeners.delete(listener);
        reject(new Error(`${node} never logged ${JSON.stringify(fields)}`));
      }, WAIT_MS);
      listeners.add(listener);
    });
    // Whoever waits for it gets the error; a test that failed before does not wait any more.
    found.catch(() => undefined);
    return found;
  }
}

const hasAll = (line: LogLine, fields: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(fields).every(([key, value]) => (value instanceof RegExp ? value.test(String(line[key])) : line[key] === value));

function parse(text: string): LogLine | null {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text) as LogLine;
  } catch (cause) {
    // A process that was killed leaves half a line.
    if (cause instanceof SyntaxError) return null;
    throw cause;
  }
}
