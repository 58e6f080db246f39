import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { newKeyPem, selfSignedCertificate } from "./selfSigned.ts";

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };
export type TlsPems = { readonly cert: string; readonly key: string };

/**
 * Certificate chain and key of the RPC server, PEM. A missing certificate is made, for the names given, signed by its
 * own key, and kept, as in KDF (reference rpc.md 1.1); the key beside it is used when there is one, else made, too.
 * Nothing that is there is changed. `made` is called with the path of a certificate that was made.
 * Rejects when a file cannot be read or written.
 */
export async function readTlsFiles(
  { certFile, keyFile }: TlsFiles,
  names: readonly string[],
  nowMs: number,
  made: (certFile: string) => void,
): Promise<TlsPems> {
  const cert = await readIfThere(certFile);
  if (cert !== null) return { cert, key: await readFile(keyFile, "utf8") };
  const key = (await readIfThere(keyFile)) ?? newKeyPem();
  const own = selfSignedCertificate(key, names, nowMs);
  // The key first: a crash in between leaves a key that the next start uses.
  if ((await readIfThere(keyFile)) === null) await writeWhole(keyFile, key, 0o600);
  await writeWhole(certFile, own, 0o644);
  made(certFile);
  return { cert: own, key };
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw cause;
  }
}

/** Under its name it is whole or not there: it is on the disk before it gets it. */
async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const part = `${path}.part`;
  await rm(part, { force: true });
  await writeFile(part, text, { mode, flag: "wx", flush: true });
  await rename(part, path);
}
