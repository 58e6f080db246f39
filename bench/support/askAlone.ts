import type { Figure, Question } from "./question.ts";

// Answers one question in a process of its own, so that no question inherits the heap or the compiled code of another.

export type AskReport =
  | { readonly kind: "said"; readonly line: string }
  | { readonly kind: "answered"; readonly title: string; readonly recorded?: string; readonly figures: readonly Figure[] }
  | { readonly kind: "failed"; readonly reason: string };

const report = (message: AskReport): Promise<void> =>
  new Promise((resolve) => {
    if (process.send) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });

const [file] = process.argv.slice(2);
const { question }: { readonly question: Question } = await import(new URL(`../${file}`, import.meta.url).href);
try {
  const figures = await question.ask((line) => void report({ kind: "said", line }));
  const { title, recorded } = question;
  await report({ kind: "answered", title, figures, ...(recorded === undefined ? {} : { recorded }) });
} catch (cause) {
  await report({ kind: "failed", reason: cause instanceof Error ? cause.message : String(cause) });
}
process.exit(0);
