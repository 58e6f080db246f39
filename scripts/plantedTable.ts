import type { PlantedBug } from "../test/planted/plantedBug.ts";

/** Bugs by group; the group is a word for the command line and a heading of the document. */
export type PlantedBugs = { readonly [group: string]: readonly PlantedBug[] };

export type ListedBug = PlantedBug & { readonly group: string };

export const listBugs = (bugs: PlantedBugs): readonly ListedBug[] =>
  Object.entries(bugs).flatMap(([group, list]) => list.map((bug) => ({ group, ...bug })));

/** Bugs named by their group or their whole name; all without names. Throws on a name that means nothing. */
export function chooseBugs(bugs: readonly ListedBug[], names: readonly string[]): readonly ListedBug[] {
  for (const name of names)
    if (!bugs.some((bug) => bug.group === name || bug.name === name))
      throw new Error(`${name} is neither a group (${[...new Set(bugs.map((bug) => bug.group))].join(", ")}) nor the name of a bug`);
  return names.length === 0 ? bugs : bugs.filter((bug) => names.includes(bug.group) || names.includes(bug.name));
}

/** The file with the bug in it. Throws when the snippet does not stand there exactly once: the entry is out of date. */
export function plant(bug: PlantedBug, text: string): string {
  const found = text.split(bug.find).length - 1;
  if (found !== 1) throw new Error(`${bug.name}: its snippet stands ${found} times in ${bug.file}`);
  return text.replace(bug.find, () => bug.replace);
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** The files of a program of the table: the script, and what Node is to import first. */
const programFiles = (args: readonly string[]): readonly string[] => (args[0] === "--import" ? args.slice(1, 3) : args.slice(0, 1));

/** A program of the table and what it says, as the document shows them. */
export function programText(args: readonly string[], says: string | undefined): string {
  const shown = args[0] === "--import" ? args.slice(2) : args;
  return says === undefined ? args.join(" ") : `${says} by ${shown.join(" ")}`;
}

/** What is wrong with the table itself, entry by entry. `read`: a file's text, null when there is none. */
export function tableProblems(bugs: readonly ListedBug[], read: (path: string) => string | null): string[] {
  const problems: string[] = [];
  const names = new Set<string>();
  for (const bug of bugs) {
    if (names.has(bug.name)) problems.push(`${bug.name}: the name stands twice`);
    names.add(bug.name);
    if (bug.name === bug.group || /[|\n]/.test(bug.name)) problems.push(`${bug.name}: not a name for a table`);
    const text = read(bug.file);
    const found = text === null ? 0 : text.split(bug.find).length - 1;
    if (found !== 1) problems.push(`${bug.name}: its snippet stands ${found} times in ${bug.file}`);
    else if (text !== null && plant(bug, text) === text) problems.push(`${bug.name}: changes nothing`);
    const named = "tests" in bug.caughtBy ? bug.caughtBy.tests : programFiles(bug.caughtBy.program);
    if (named.length === 0) problems.push(`${bug.name}: nobody is named to catch it`);
    for (const path of named) if (read(path) === null) problems.push(`${bug.name}: there is no ${path}`);
  }
  return problems;
}

/** The table of docs/safety.md: bugs that the simulator must notice, by which rule, in which world. */
export function simulatorTable(bugs: readonly PlantedBug[]): string {
  const rows = bugs.map(({ name, file, caughtBy }) => {
    const [says, args] =
      "program" in caughtBy ? [caughtBy.says ?? "", caughtBy.program.slice(caughtBy.program.indexOf("--seed"))] : ["", []];
    return `| ${cell(name)} | \`${file}\` | ${says.slice(1, -1)} | \`${args.join(" ")}\` |`;
  });
  return ["| Bug | Where | Rule | Seed and world |", "|---|---|---|---|", ...rows].join("\n");
}

const SHOWN = 2;
/** Stands for a bug nobody has planted since it changed, or that was not caught. */
export const NOT_RUN = "**not shown**";

/** The tests that went red, in the order of their files, as the document shows them. */
export function caughtText(red: readonly string[]): string {
  const more = red.length - SHOWN;
  return [...red.slice(0, SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].map(cell).join("; ");
}

/** What a document of `plantedDocument` says of each bug, by name. */
export function documentRows(document: string): ReadonlyMap<string, string> {
  const rows = document.split("\n").flatMap((line) => {
    const [, name, caught] = /^\| (.*) \| `[^`]*` \| (.*) \|$/.exec(line) ?? [];
    return name === undefined || caught === undefined ? [] : [[name.replaceAll("\\|", "|"), caught] as const];
  });
  return new Map(rows);
}

/** `docs/planted-bugs.md`: groups in the order of the table, bugs by name. `caught`: `caughtText` by name; what is missing was not run, or not caught. */
export function plantedDocument(bugs: readonly ListedBug[], caught: ReadonlyMap<string, string>): string {
  const groups = [...new Set(bugs.map(({ group }) => group))];
  const of = (group: string): ListedBug[] => bugs.filter((bug) => bug.group === group).sort((a, b) => (a.name < b.name ? -1 : 1));
  const count = (list: readonly ListedBug[]): string => `${list.filter(({ name }) => caught.has(name)).length} of ${list.length}`;
  const lines = [
    "# Planted bugs",
    "",
    "Generated by `npm run planted -- --write`. Each bug is put into a copy of the tree, alone, and the named tests run: one of them must go red.",
    "`npm run planted -- NAME` plants one bug or one group. The table itself is in `test/planted/`; `npm test` fails when an entry no longer fits its file.",
    "",
    "| Group | Caught |",
    "|---|---|",
    ...groups.map((group) => `| ${group} | ${count(of(group))} |`),
    `| **all** | **${count(bugs)}** |`,
  ];
  for (const group of groups) {
    lines.push("", `## ${group}`, "", "| Bug | Where | Caught by |", "|---|---|---|");
    for (const { name, file } of of(group)) lines.push(`| ${cell(name)} | \`${file}\` | ${caught.get(name) ?? NOT_RUN} |`);
  }
  return `${lines.join("\n")}\n`;
}
