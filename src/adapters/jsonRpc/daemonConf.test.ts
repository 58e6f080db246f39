import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { daemonConfPath, daemonConfSentence, readDaemonConf } from "./daemonConf.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "swapnode-conf-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

test.each([
  [{ coin: "DOC", asset: "DOC", name: "x" }, "linux", "/h/.komodo/DOC/DOC.conf"],
  [{ coin: "KMD", name: "komodo" }, "linux", "/h/.komodo/komodo.conf"],
  [{ coin: "LTC", name: "litecoin" }, "darwin", "/h/Library/Application Support/Litecoin/litecoin.conf"],
  [{ coin: "DOC", asset: "DOC" }, "darwin", "/h/Library/Application Support/Komodo/DOC/DOC.conf"],
  [{ coin: "DASH", confpath: "USERHOME/.dashcore/dash.conf" }, "linux", "/h/.dashcore/dash.conf"],
  [{ coin: "DASH", confpath: "~/.dashcore/dash.conf" }, "linux", "/h/.dashcore/dash.conf"],
  [{ coin: "DASH", confpath: "/etc/dash.conf" }, "linux", "/etc/dash.conf"],
])("the conf file of %j on %s is %s", (entry, platform, path) => {
  expect(daemonConfPath(entry, "/h", platform)).toEqual({ ok: true, value: path });
});

test("user, password and port come from the file; the password may hold any character", async () => {
  put(".litecoin/litecoin.conf", "# note\nrpcuser=alice\r\nrpcpassword = a=b#c \nrpcport=19443\nserver\n[test]\nrpcuser=mallory\n");
  const read = await readDaemonConf({ coin: "LTC", name: "litecoin", rpcport: 9332 }, home, "linux");
  if (!read.ok) throw new Error(daemonConfSentence(read.error));
  expect(read.value.url.href).toBe("http://127.0.0.1:19443/");
  expect([read.value.user, read.value.password.reveal()]).toEqual(["alice", "a=b#c"]);
  expect(JSON.stringify(read)).not.toContain("a=b#c");
});

test("without a port in the file that of the coin's entry counts", async () => {
  put(".litecoin/litecoin.conf", "rpcuser=a\nrpcpassword=b\n");
  const read = await readDaemonConf({ coin: "LTC", name: "litecoin", rpcport: 9332 }, home, "linux");
  expect(read.ok && read.value.url.port).toBe("9332");
});

test("without credentials in the file the daemon's cookie is used, beside the file or where it says", async () => {
  put(".litecoin/litecoin.conf", "rpcport=1\n");
  put(".litecoin/.cookie", "__cookie__:abc123\n");
  const beside = await readDaemonConf({ coin: "LTC", name: "litecoin" }, home, "linux");
  expect(beside.ok && [beside.value.user, beside.value.password.reveal()]).toEqual(["__cookie__", "abc123"]);
  put(".litecoin/litecoin.conf", `rpcport=1\nrpccookiefile=${join(home, "elsewhere")}\n`);
  put("elsewhere", "u:p");
  const named = await readDaemonConf({ coin: "LTC", name: "litecoin" }, home, "linux");
  expect(named.ok && named.value.user).toBe("u");
});

test.each<[string, object, string]>([
  ["", { coin: "LTC" }, "names no daemon"],
  ["", { coin: "LTC", name: "litecoin" }, "there is no such file"],
  ["rpcport=1\n", { coin: "LTC", name: "litecoin" }, "no cookie file"],
  ["rpcuser=a\nrpcpassword=b\n", { coin: "LTC", name: "litecoin" }, "has an rpcport"],
  ["rpcuser=a\nrpcpassword=b\nrpcport=99999\n", { coin: "LTC", name: "litecoin", rpcport: 1 }, "has an rpcport"],
  [`rpcuser=${"a".repeat(5_000)}\n`, { coin: "LTC", name: "litecoin" }, "Line 1"],
  ["x".repeat(1_000_001), { coin: "LTC", name: "litecoin" }, "larger than"],
])("what is wrong is said in one sentence (%#)", async (text, entry, sentence) => {
  if (text !== "") put(".litecoin/litecoin.conf", text);
  const read = await readDaemonConf(entry as { coin: string }, home, "linux");
  expect(read.ok ? "" : daemonConfSentence(read.error)).toContain(sentence);
});
