import { sha256 } from "@noble/hashes/sha2.js";
import { reversed, toHex } from "../../core/util/bytes.ts";

/** Name of an output script in the Electrum protocol: its SHA-256 with the bytes in reverse order, hex. */
export const scriptHashOf = (script: Uint8Array): string => toHex(reversed(sha256(script)));
