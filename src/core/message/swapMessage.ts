import { assertNever, type Result } from "../util/result.ts";
import { type BadMessage, decode, MAX_MESSAGE_BYTES, type MsgpackReader, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import type { NegotiationData, SwapMessage, SwapTxData } from "./types.ts";

/** Variant names in index order (reference swap-protocol.md 1.4). */
const VARIANTS = [
  "Negotiation",
  "NegotiationReply",
  "Negotiated",
  "TakerFee",
  "MakerPayment",
  "TakerPayment",
] as const satisfies readonly SwapMessage["type"][];
const PUBKEY_BYTES = 33;
/** Read up to this; 20 and 32 make sense, and the swap refuses the rest by name. */
const MAX_SECRET_HASH_BYTES = 64;
/** Swap contract address: 20 bytes on EVM chains, empty on UTXO chains. */
const MAX_CONTRACT_BYTES = 64;

/** Payload of the signed envelope on `swap/<uuid>`. */
export function encodeSwapMessage(message: SwapMessage): Uint8Array {
  const w = new MsgpackWriter();
  w.variant(VARIANTS.indexOf(message.type));
  switch (message.type) {
    case "Negotiation":
    case "NegotiationReply":
      writeNegotiation(w, message.data);
      break;
    case "Negotiated":
      w.bool(message.accepted);
      break;
    case "TakerFee":
    case "MakerPayment":
      if (message.tx.instructions) w.array(2).ints(message.tx.data).ints(message.tx.instructions);
      else w.ints(message.tx.data);
      break;
    case "TakerPayment":
      w.ints(message.tx);
      break;
    default:
      assertNever(message);
  }
  return w.finish();
}

export function parseSwapMessage(bytes: Uint8Array): Result<SwapMessage, BadMessage> {
  return decode(bytes, (r): SwapMessage => {
    const type = VARIANTS[r.variant(VARIANTS)];
    switch (type) {
      case "Negotiation":
      case "NegotiationReply":
        return { type, data: readNegotiation(r) };
      case "Negotiated":
        return { type, accepted: r.bool() };
      case "TakerFee":
      case "MakerPayment":
        return { type, tx: readTxData(r) };
      case "TakerPayment":
        return { type, tx: r.ints(MAX_MESSAGE_BYTES) };
      case undefined:
        return refuse("unknown variant");
      default:
        return assertNever(type);
    }
  });
}

function writeNegotiation(w: MsgpackWriter, data: NegotiationData): void {
  w.array(data.version === 1 ? 4 : data.version === 2 ? 6 : 7);
  w.uint(data.startedAt).uint(data.paymentLocktime).ints(data.secretHash);
  if (data.version !== 3) w.ints(data.persistentPubkey);
  if (data.version !== 1) w.ints(data.makerCoinContract).ints(data.takerCoinContract);
  if (data.version === 3) w.ints(data.makerCoinHtlcPub).ints(data.takerCoinHtlcPub);
}

/** An untagged type: the number of fields names the version (reference swap-protocol.md 1.5). */
function readNegotiation(r: MsgpackReader): NegotiationData {
  const length = r.array();
  const pubkey = (): Uint8Array => r.intsOrBinOf(PUBKEY_BYTES);
  const contract = (): Uint8Array => r.ints(MAX_CONTRACT_BYTES);
  const times = (): { startedAt: number; paymentLocktime: number } => ({ startedAt: r.uint(), paymentLocktime: r.uint() });
  switch (length) {
    case 4:
      return { version: 1, ...times(), secretHash: r.intsOf(20), persistentPubkey: pubkey() };
    case 6:
      return {
        version: 2,
        ...times(),
        secretHash: r.ints(MAX_SECRET_HASH_BYTES),
        persistentPubkey: pubkey(),
        makerCoinContract: contract(),
        takerCoinContract: contract(),
      };
    case 7:
      return {
        version: 3,
        ...times(),
        secretHash: r.ints(MAX_SECRET_HASH_BYTES),
        makerCoinContract: contract(),
        takerCoinContract: contract(),
        makerCoinHtlcPub: pubkey(),
        takerCoinHtlcPub: pubkey(),
      };
    default:
      return refuse(`negotiation data of ${length} elements`);
  }
}

/** An untagged type: an array of integers, or two such arrays (reference swap-protocol.md 1.6). */
function readTxData(r: MsgpackReader): SwapTxData {
  const withInstructions = r.lookAhead(() => r.array() === 2 && r.atArray());
  if (!withInstructions) return { data: r.ints(MAX_MESSAGE_BYTES) };
  r.struct(2);
  return { data: r.ints(MAX_MESSAGE_BYTES), instructions: r.ints(MAX_MESSAGE_BYTES) };
}
