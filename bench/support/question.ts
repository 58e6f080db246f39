/** What a figure should be: at most, or at least, this value in the figure's own unit. */
export type Aim = { readonly atMost: number } | { readonly atLeast: number };

/** One number of the report. */
export type Figure = {
  readonly what: string;
  readonly value: number;
  /** `s`, `ms`, `MB`, `/s`, `%`, `B`. */
  readonly unit: string;
  readonly aim?: Aim;
  /** What the number stands beside or leaves out, in a few words. */
  readonly note?: string;
};

/** One file of this folder: a question, and how it is answered here and now. */
export type Question = {
  /** Given on the command line to run only this one. */
  readonly name: string;
  readonly title: string;
  /** A figure of others that stands beside ours, with where it is from. Never one that was measured in this run. */
  readonly recorded?: string;
  /** `say` prints progress for people. */
  ask(say: (line: string) => void): Promise<readonly Figure[]>;
};

/** Null where there is no aim. */
export function meetsAim({ value, aim }: Figure): boolean | null {
  if (aim === undefined) return null;
  return "atMost" in aim ? value <= aim.atMost : value >= aim.atLeast;
}

/** The middle value; of an even count, the mean of the two in the middle. Throws without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  if (low === undefined || high === undefined) throw new Error("a median of nothing");
  return (low + high) / 2;
}
