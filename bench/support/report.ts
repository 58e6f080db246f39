import { type Machine, machineText } from "./machine.ts";
import { type Figure, meetsAim } from "./question.ts";

/** What one question gave; `failure` says why there are no figures. */
export type Answer = {
  readonly name: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly recorded?: string;
  readonly failure?: string;
};

function valueText({ value, unit }: Figure): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

function aimText(figure: Figure): string {
  const { aim, unit } = figure;
  if (aim === undefined) return "";
  return "atMost" in aim ? `at most ${aim.atMost} ${unit}` : `at least ${aim.atLeast} ${unit}`;
}

function verdict(figure: Figure): string {
  const met = meetsAim(figure);
  return met === null ? "" : met ? "met" : "MISSED";
}

/** For a terminal. */
export function answerText({ title, figures, recorded, failure }: Answer): string {
  const width = Math.max(0, ...figures.map(({ what }) => what.length));
  const lines = figures.map((f) => {
    const aim = f.aim === undefined ? "" : `  ${verdict(f)} (${aimText(f)})`;
    return `  ${f.what.padEnd(width)}  ${valueText(f).padStart(12)}${aim}${f.note ? `  ${f.note}` : ""}`;
  });
  if (recorded) lines.push(`  For comparison: ${recorded}`);
  if (failure) lines.push(`  FAILED: ${failure}`);
  return [title, ...lines].join("\n");
}

const HEAD = "# Benchmark results\n\nWritten by `npm run bench -- --write`, a chapter at a time; not edited by hand.\n";
/** The line of a chapter that says how to ask its question again. */
const COMMAND = /^`npm run bench -- (\w+)`$/m;

function chapter(machine: Machine, { name, title, figures, recorded, failure }: Answer): string {
  const lines = [`## ${title}`, "", `\`npm run bench -- ${name}\``, "", machineText(machine), ""];
  if (figures.length > 0) lines.push("| What | Value | Aim | | Note |", "|---|---:|---|---|---|");
  for (const f of figures) lines.push(`| ${f.what} | ${valueText(f)} | ${aimText(f)} | ${verdict(f)} | ${f.note ?? ""} |`);
  if (recorded) lines.push("", `For comparison: ${recorded}.`);
  if (failure) lines.push("", `Failed: ${failure}`);
  return `${lines.join("\n")}\n`;
}

/**
 * `bench/RESULTS.md` with the chapters of these answers made anew. Each names the machine and commit it was measured with; those of
 * other questions stay. @param names all questions there are, in their order; a chapter of another name goes
 */
export function renewed(document: string, names: readonly string[], machine: Machine, answers: readonly Answer[]): string {
  const chapters = new Map<string, string>(
    document
      .split(/^(?=## )/m)
      .map((text) => [COMMAND.exec(text)?.[1] ?? "", `${text.trimEnd()}\n`] as const)
      .filter(([name]) => name !== ""),
  );
  for (const answer of answers) chapters.set(answer.name, chapter(machine, answer));
  return [HEAD, ...names.flatMap((name) => chapters.get(name) ?? [])].join("\n");
}
