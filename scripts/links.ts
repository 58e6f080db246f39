import { posix } from "node:path";
import type { SourceFile } from "./sourceFiles.ts";

/** What a document may name. */
export type Named = { readonly hasPath: (path: string) => boolean; readonly commands: readonly string[] };

/** The name under which a heading can be linked to. */
function anchorOf(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

function anchorsOf(text: string): Set<string> {
  const found = new Set([...text.matchAll(/<a id="([^"]+)"/g)].map((m) => m[1] ?? ""));
  for (const m of text.matchAll(/^#+ (.*)$/gm)) {
    const anchor = anchorOf(m[1] ?? "");
    let name = anchor;
    for (let n = 1; found.has(name); n++) name = `${anchor}-${n}`;
    found.add(name);
  }
  return found;
}

/** Decisions stay as they were written, also about files that have moved since. */
const isDecision = (path: string): boolean => path.startsWith("docs/adr/0");

/** Rows whose cells are not as many as those of their table: a reader is not shown the last of them. */
function rowProblems({ path, text }: SourceFile): string[] {
  const problems: string[] = [];
  let cellsOfTable = 0;
  let isCode = false;
  for (const [i, line] of text.split("\n").entries()) {
    if (line.startsWith("```")) isCode = !isCode;
    const cells = !isCode && line.startsWith("|") ? line.replaceAll("\\|", "").split("|").length - 2 : 0;
    if (cells === 0 || cellsOfTable === 0) cellsOfTable = cells;
    else if (cells !== cellsOfTable) problems.push(`${path}: line ${i + 1} has not ${cellsOfTable} cells as its table, but ${cells}`);
  }
  return problems;
}

/**
 * What does not hold in documents: links to files and headings that are not there, names of files and commands that are none, rows that
 * do not fit their table, and documents nobody comes to from the README.
 */
export function linkProblems(documents: readonly SourceFile[], { hasPath, commands }: Named): string[] {
  const anchors = new Map(documents.map(({ path, text }) => [path, anchorsOf(text)]));
  const links = new Map<string, string[]>();
  const problems: string[] = [];
  for (const { path, text } of documents) {
    const targets: string[] = [];
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [file = "", heading] = link.split("#");
      const target = file === "" ? path : posix.join(posix.dirname(path), file);
      if (!hasPath(target)) problems.push(`${path}: ${link} leads to no file`);
      else if (heading !== undefined && anchors.get(target)?.has(heading) === false) problems.push(`${path}: ${link} leads to no heading`);
      targets.push(target, `${target}/README.md`);
    }
    links.set(path, targets);
    problems.push(...rowProblems({ path, text }));
    if (isDecision(path)) continue;
    for (const [, name = ""] of text.matchAll(/`((?:src|test|sim|scripts|docs|bench|contracts|client)\/[\w./-]+)`/g)) {
      if (!hasPath(name)) problems.push(`${path}: there is no ${name}`);
    }
    for (const [, name = ""] of text.matchAll(/npm run (?:-s )?([\w:-]+)/g)) {
      if (!commands.includes(name)) problems.push(`${path}: there is no command npm run ${name}`);
    }
  }
  const reached = new Set(["README.md"]);
  for (const path of reached) for (const target of links.get(path) ?? []) if (links.has(target)) reached.add(target);
  for (const { path } of documents) if (!reached.has(path)) problems.push(`${path} cannot be reached from README.md`);
  return problems;
}
