import { createRequire } from "node:module";
import { nobleVerify } from "../../core/crypto/nobleVerifier.ts";
import type { Log } from "../../ports/log.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";

/** The part of the `secp256k1` package used here. It throws for keys and signatures it cannot parse. */
type Binding = { ecdsaVerify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean };

const require = createRequire(import.meta.url);

/**
 * The package's main entry falls back to `elliptic`, whose ECDSA has been wrong before; its `bindings` file knows only
 * libsecp256k1 and throws when there is no binary for this machine.
 */
const loadBinding = (): unknown => require("secp256k1/bindings");

/**
 * The fastest verifier this machine has: libsecp256k1, else plain JavaScript (about twenty times slower), which is
 * logged. Never `elliptic`. Keys and signing stay out of the binding (design D10).
 */
export function createNativeVerifier(log: Log, loader: () => unknown = loadBinding): SignatureVerifier {
  let binding: unknown;
  try {
    binding = loader();
  } catch (cause) {
    log.warn("native_verifier_unavailable", { cause: cause instanceof Error ? cause.message : typeof cause });
    return { verify: nobleVerify };
  }
  if (!isBinding(binding)) {
    log.warn("native_verifier_unavailable", { cause: "unexpected exports" });
    return { verify: nobleVerify };
  }
  return nativeVerifier(binding);
}

function nativeVerifier(binding: Binding): SignatureVerifier {
  return {
    verify(signature, digest, publicKey) {
      if (signature.length !== 64 || digest.length !== 32 || publicKey.length !== 33) return false;
      try {
        return binding.ecdsaVerify(signature, digest, publicKey);
      } catch {
        // Lengths are right, so the binding could not parse the key or the signature: its one way to say "malformed".
        return false;
      }
    },
  };
}

function isBinding(value: unknown): value is Binding {
  return typeof value === "object" && value !== null && "ecdsaVerify" in value && typeof value.ecdsaVerify === "function";
}
