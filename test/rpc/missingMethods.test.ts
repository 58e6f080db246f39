import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpServer } from "../../src/ports/http.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";

/** The methods of KDF that docs/compatibility.md says this node does not have, and that there are no others. */

const document = readFileSync(fileURLToPath(new URL("../../docs/compatibility.md", import.meta.url)), "utf8");
const table = /\n### Methods of KDF that this node does not have\n([\s\S]*?)\n##/.exec(document)?.[1] ?? "";
const rows = table
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.slice(1, -1).split("|"));
const listed = rows.flatMap(([names]) => [...(names ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ""));

let server: HttpServer;
beforeAll(async () => {
  server = await serveRpc(await fakeNode());
});
afterAll(() => server.close());

test.each(listed)("%s is not there in either form", async (name) => {
  const call = { userpass: PASSWORD, method: name.replace("*", "init") };
  for (const body of [call, { ...call, mmrpc: "2.0", params: {}, id: 3 }]) {
    const { status, text } = await send(server, JSON.stringify(body));
    expect({ status, reply: JSON.parse(text) }).toMatchObject({
      status: 400,
      reply: { error: "No such method", error_type: "NoSuchMethod" },
    });
  }
});

test("each name stands once, with a reason", () => {
  expect(listed.length).toBeGreaterThan(50);
  expect(new Set(listed).size).toBe(listed.length);
  for (const [names, reason] of rows) expect(reason, names).toMatch(/\w/);
});

/** `a::{b,c}` are two names. */
function expand(name: string): readonly string[] {
  const [, head, inner] = /^(.*)\{(.*)\}$/.exec(name) ?? [];
  return head === undefined || inner === undefined ? [name] : inner.split(",").map((part) => head + part);
}

function namesOf(section: string): ReadonlySet<string> {
  const names = [
    // A paragraph of its own each, or a row of the table of 5.4.
    ...[...section.matchAll(/^\*\*`([\w:/]+)`\*\*/gm), ...section.matchAll(/ \*\*`([\w:/]+)`\*\*/g)].map(([, name]) => name ?? ""),
    ...[...section.matchAll(/^\| `([\w:]+)` \|/gm)].map(([, name]) => name ?? ""),
    // 5.5 is a list of names.
    ...[...section.slice(section.indexOf("### 5.5")).matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ""),
  ];
  return new Set(names.flatMap((name) => expand(name.replace("init/status/cancel", "*"))));
}

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const reference = join(shared, "reference/rpc.md");
const hasShared = existsSync(reference);

test.skipIf(!hasShared)(`every method of the reference is one of ours or listed${hasShared ? "" : " skipped: no shared data"}`, () => {
  const names = namesOf(/\n## 5\. [^\n]*\n([\s\S]*?)\n## /.exec(readFileSync(reference, "utf8"))?.[1] ?? "");
  expect(names.size).toBeGreaterThan(110);
  const ours = new Set(METHODS.map((method) => method.name));
  const covers = (entry: string, name: string): boolean =>
    entry === name || (entry.endsWith("*") && name.startsWith(entry.slice(0, -1)) && name !== entry.slice(0, -1));
  const isOurs = (name: string): boolean => ours.has(name) || (name.endsWith("*") && [...ours].some((own) => covers(name, own)));
  const missing = [...names].filter((name) => !isOurs(name) && !listed.some((entry) => covers(entry, name)));
  expect(missing).toEqual([]);
  // Nothing is listed that KDF has not.
  expect(listed.filter((entry) => ![...names].some((name) => covers(entry, name)))).toEqual([]);
});
