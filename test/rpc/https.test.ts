import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { selfSignedCertificate } from "../../src/adapters/httpServer/selfSigned.ts";
import type { HttpServer } from "../../src/ports/http.ts";
import { fakeNode, NOW_MS } from "../fakes/fakeNode.ts";
import { serveRpc } from "../fakes/rpcServer.ts";

/** The RPC over TLS, with a certificate of the operator and with one of its own making (reference rpc.md 1.1). */

const pem = (name: string): string => readFileSync(new URL(`../vectors/tls/${name}.pem`, import.meta.url), "utf8");
const tlsPems = { cert: pem("cert"), key: pem("key") };

let folder = "";
let server: HttpServer | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "swapnode-https-"));
});
afterEach(async () => {
  await server?.close();
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

const files = () => ({ certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") });
async function serve(altNames: readonly string[] = []): Promise<HttpServer> {
  server = await serveRpc(await fakeNode(), { tls: files(), altNames });
  return server;
}

type Reply = { readonly status: number | undefined; readonly text: string; readonly origin: string | undefined };
/** A client that believes this certificate and no other, and looks whether it is made out to the host. */
function ask({ port }: HttpServer, ca: string, host = "127.0.0.1", servername?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request(
      { host: "127.0.0.1", port, ca, method: "POST", headers: { host }, agent: false, ...(servername === undefined ? {} : { servername }) },
      (response) => {
        let text = "";
        response.on("data", (part: Buffer) => {
          text += part.toString();
        });
        response.on("end", () => resolve({ status: response.statusCode, text, origin: response.headers["access-control-allow-origin"] }));
      },
    );
    call.on("error", reject);
    call.end('{"method":"version"}');
  });
}

test("with files of the operator the RPC answers over https, and leaves them as they are", async () => {
  const { cert, key } = tlsPems;
  writeFileSync(files().certFile, cert);
  writeFileSync(files().keyFile, key);
  const rpc = await serve();
  expect(rpc.url).toBe(`https://127.0.0.1:${rpc.port}`);
  expect(await ask(rpc, cert)).toMatchObject({ status: 200, text: expect.stringContaining("result"), origin: "https://localhost:3000" });
  expect([readFileSync(files().certFile, "utf8"), readFileSync(files().keyFile, "utf8")]).toEqual([cert, key]);
  // Plain HTTP is not answered there.
  await expect(fetch(`http://127.0.0.1:${rpc.port}/`, { method: "POST", body: "{}" })).rejects.toThrow();
});

test("without files it makes a certificate for the names of the node and keeps it", async () => {
  const rpc = await serve(["node.lan", "192.0.2.7", "2001:db8::7", "fe80::1%eth0", "no name"]);
  const cert = readFileSync(files().certFile, "utf8");
  expect(statSync(files().keyFile).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).sort()).toEqual(["cert.pem", "key.pem"]);
  expect(await ask(rpc, cert)).toMatchObject({ status: 200 });
  expect(await ask(rpc, cert, "localhost", "localhost")).toMatchObject({ status: 200 });
  expect(await ask(rpc, cert, "node.lan", "node.lan")).toMatchObject({ status: 200 });
  await expect(ask(rpc, cert, "127.0.0.1", "other.lan")).rejects.toThrow(/does not match certificate's altnames/);
  await expect(ask(rpc, tlsPems.cert)).rejects.toThrow(/self-signed/);

  const key = readFileSync(files().keyFile, "utf8");
  await rpc.close();
  const again = await serve();
  expect([readFileSync(files().certFile, "utf8"), readFileSync(files().keyFile, "utf8")]).toEqual([cert, key]);
  expect(await ask(again, cert)).toMatchObject({ status: 200 });
});

test("a key that is there is used for the certificate that is missing", async () => {
  writeFileSync(files().keyFile, tlsPems.key);
  const rpc = await serve();
  expect(readFileSync(files().keyFile, "utf8")).toBe(tlsPems.key);
  expect(await ask(rpc, readFileSync(files().certFile, "utf8"))).toMatchObject({ status: 200 });
});

test("a certificate without its key, and files that are none, are told with their names", async () => {
  writeFileSync(files().certFile, tlsPems.cert);
  await expect(serve()).rejects.toThrow(`the certificate ${files().certFile} and its key ${files().keyFile} cannot be used (ENOENT`);
  expect(existsSync(files().keyFile)).toBe(false);
  writeFileSync(files().certFile, "");
  writeFileSync(files().keyFile, "");
  await expect(serve()).rejects.toThrow(/cannot be used/);
  rmSync(files().certFile);
  writeFileSync(files().keyFile, "no key");
  await expect(serve()).rejects.toThrow(/cannot be used/);
  expect(readdirSync(folder)).toEqual(["key.pem"]);
});

test("a certificate of our making says what another reader must find in it", () => {
  const names = ["localhost", "127.0.0.1", "::1", "2001:db8::ff00:42:8329", "::ffff:192.0.2.1", "a".repeat(253), "a".repeat(254), "ü.lan"];
  const cert = new X509Certificate(selfSignedCertificate(tlsPems.key, names, NOW_MS));
  expect(cert.subjectAltName?.split(", ")).toEqual([
    "DNS:localhost",
    "IP Address:127.0.0.1",
    "IP Address:0:0:0:0:0:0:0:1",
    "IP Address:2001:DB8:0:0:0:FF00:42:8329",
    "IP Address:0:0:0:0:0:FFFF:C000:201",
    `DNS:${"a".repeat(253)}`,
  ]);
  expect([cert.subject, cert.issuer, cert.ca]).toEqual(["CN=swapnode RPC", "CN=swapnode RPC", false]);
  expect(cert.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(cert.verify(cert.publicKey)).toBe(true);
  const day = 86_400_000;
  const second = Math.floor(NOW_MS / 1_000) * 1_000;
  expect([Date.parse(cert.validFrom), Date.parse(cert.validTo)]).toEqual([second - day, second + 3_650 * day]);
  expect(cert.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  expect(selfSignedCertificate(tlsPems.key, names, NOW_MS + 1)).not.toContain(cert.serialNumber);
});

test("an RSA key signs its certificate, too; a key that signs otherwise is refused", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const cert = new X509Certificate(
    selfSignedCertificate(privateKey.export({ type: "pkcs8", format: "pem" }).toString(), ["localhost"], NOW_MS),
  );
  expect([cert.checkPrivateKey(privateKey), cert.verify(cert.publicKey)]).toEqual([true, true]);
  const edwards = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  expect(() => selfSignedCertificate(edwards, ["localhost"], NOW_MS)).toThrow("a key of type ed25519 cannot sign a certificate here");
});

test("a certificate that ends after 2049 has its years in four digits", () => {
  const late = Date.UTC(2045, 0, 1);
  const cert = new X509Certificate(selfSignedCertificate(tlsPems.key, ["localhost"], late));
  expect(Date.parse(cert.validTo)).toBe(late + 3_650 * 86_400_000);
});

test("very many names fit", () => {
  const names = Array.from({ length: 100 }, (_, i) => `${i}.${"n".repeat(240)}`);
  expect(new X509Certificate(selfSignedCertificate(tlsPems.key, names, NOW_MS)).subjectAltName?.split(", ")).toHaveLength(100);
});
