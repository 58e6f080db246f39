import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import { createLog, formatHumanLine, formatJsonLine, openFileSink } from "./jsonLog.ts";

const clock: Clock = { nowMs: () => 1_700_000_000_123, after: () => () => {} };

function captured(level: "debug" | "info" | "warn" | "error" = "debug") {
  const lines: string[] = [];
  const log = createLog(clock, level, [{ format: "json", write: (line) => lines.push(line) }]);
  return { lines, log };
}

test("an event is one line of JSON with time, level, name and fields", () => {
  const { lines, log } = captured();
  log.child({ swap: "u1" }).info("payment_broadcast", { coin: "DOC", value: 10n, raw: Uint8Array.of(1, 255) });
  expect(lines).toEqual([
    '{"time":"2023-11-14T22:13:20.123Z","level":"info","event":"payment_broadcast","swap":"u1","coin":"DOC","value":"10","raw":"01ff"}\n',
  ]);
});

test("levels below the chosen one are not written", () => {
  const { lines, log } = captured("warn");
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(["c", "d"]);
});

test("no secret is printed, in neither form, however deep and under whatever name", () => {
  const secret = "hunter2-hunter2";
  const fields = {
    direct: new Secret(secret),
    deep: { list: [{ inner: new Secret(secret) }] },
    rpc_password: secret,
    config: { passphrase: secret, userpass: secret, privKey: secret, p2p_privkey: secret, mnemonic: secret },
    error: new Error("outer", { cause: { wallet_password: secret } }),
  };
  expect(formatJsonLine(0, "info", "e", fields)).not.toContain(secret);
  expect(formatHumanLine(0, "info", "e", fields)).not.toContain(secret);
  expect(formatJsonLine(0, "info", "e", { secret_hash: "ab12" })).toContain("ab12");
});

test("a line stays bounded whatever it is given: long, deep, wide, circular", () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, "v".repeat(5_000)]));
  for (const fields of [{ text: "x".repeat(1e6) }, { circular }, wide, { list: Array.from({ length: 1e5 }, () => "y") }]) {
    expect(formatJsonLine(0, "info", "e", fields).length).toBeLessThan(9_000);
    expect(formatHumanLine(0, "info", "e", fields).length).toBeLessThan(9_000);
  }
});

test("text of a peer cannot start a new line or move the cursor", () => {
  const line = formatHumanLine(0, "info", "e", { said: "hello\n\x1b[2Jroot# " });
  expect(line).not.toContain("\n");
  expect(line).not.toContain("\x1b");
});

test("an error is written with its cause", () => {
  const line = JSON.parse(formatJsonLine(0, "error", "e", { error: new Error("outer", { cause: new Error("inner") }) }));
  expect(line.error).toMatchObject({ message: "outer", cause: { message: "inner" } });
});

test("the log file must end in .log, is private, and is appended to", () => {
  const dir = tempFolder();
  expect(() => openFileSink(join(dir, "log.txt"))).toThrow("must end in .log");
  for (const text of ["one\n", "two\n"]) {
    const sink = openFileSink(join(dir, "node.log"));
    sink.write(text);
    sink.close();
    sink.write("after close is ignored");
  }
  expect(readFileSync(join(dir, "node.log"), "utf8")).toBe("one\ntwo\n");
  expect(statSync(join(dir, "node.log")).mode & 0o777).toBe(0o600);
});

test("after log rotation the log goes on in a file of its name, and in the old one where that cannot be", () => {
  const dir = tempFolder();
  const path = join(dir, "node.log");
  const sink = openFileSink(path);
  sink.write("one\n");
  renameSync(path, `${path}.1`);
  sink.write("two\n");
  sink.reopen();
  sink.write("three\n");
  expect([readFileSync(`${path}.1`, "utf8"), readFileSync(path, "utf8")]).toEqual(["one\ntwo\n", "three\n"]);
  renameSync(dir, `${dir}.away`);
  expect(() => sink.reopen()).toThrow("ENOENT");
  sink.write("four\n");
  expect(readFileSync(join(`${dir}.away`, "node.log"), "utf8")).toBe("three\nfour\n");
  renameSync(`${dir}.away`, dir);
  sink.close();
});

/** Logs four megabytes to the file that it is given. */
const FOUR_MEGABYTES = `
  const { openFileSink } = await import(${JSON.stringify(new URL("./jsonLog.ts", import.meta.url).href)});
  const sink = openFileSink(process.argv[1]);
  for (let n = 0; n < 1_000; n++) sink.write("x".repeat(4_000) + "\\n");
  process.stdout.write("still there");
`;

test("a named pipe that nobody reads, or reads on, holds up nothing", () => {
  const path = join(tempFolder(), "pipe.log");
  execFileSync("mkfifo", [path]);
  // In a process of its own, which can be ended where it waits.
  const log = (): string =>
    spawnSync(process.execPath, ["--input-type=module", "-e", FOUR_MEGABYTES, path], { encoding: "utf8", timeout: 5_000 }).stdout;
  expect(log()).toBe("");
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  expect(log()).toBe("still there");
  closeSync(reader);
});
