import { isIP } from "node:net";
import { z } from "zod";

/** Seed addresses read from one configuration. */
const MAX_SEEDS = 256;
const MAX_TEXT = 4_096;

/** A host, optionally pinned to a peer (`host/p2p/<id>`), a multiaddress, or `/memory/<n>`. */
const SEED =
  /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?:\/p2p\/[A-Za-z0-9]{20,80})?|\/memory\/\d{1,20}|\/(?:ip4|ip6|dns|dns4|dns6)\/[A-Za-z0-9.:/_-]{1,400})$/;

const text = z.string().max(MAX_TEXT);
const ip = z
  .string()
  .max(45)
  .refine((value) => isIP(value) !== 0, "must be an IP address");
const port = z.union(
  [
    z.number().int().min(0, "must be a port number"),
    z
      .string()
      .regex(/^\d{1,6}$/)
      .transform(Number),
  ],
  "must be a port number",
);

/** `swapnode.profile_overrides`: a value of the network profile replaced. Fractions as text, `"1/777"` or `"0.02"`. */
const fraction = z.string().regex(/^\d{1,30}(?:\.\d{1,30})?(?:\/[1-9]\d{0,29})?$/, 'must be a fraction such as "1/777" or "0.02"');
const pubkey = z.string().regex(/^0[23][0-9a-f]{64}$/, "must be a compressed public key: 66 lower-case hex digits beginning with 02 or 03");
const seconds = z.number().int().min(1).max(10_000_000);
const factor = z.number().int().min(1).max(100);

export const profileOverridesSchema = z
  .strictObject({
    dex_fee_rate: fraction.describe("Share of the taker's volume that is the dex fee."),
    dex_fee_discount_ticker: text.nullable().describe("Ticker that gets the discount rate when it is on either side."),
    dex_fee_discount_rate: fraction.describe("Rate for that ticker."),
    dex_fee_floor: fraction.describe("Least dex fee beside dust, in whole taker coins."),
    dex_fee_pubkey: pubkey.nullable().describe("Key that receives the dex fee."),
    dex_fee_exempt_pubkey: pubkey.nullable().describe("A taker with this key owes no fee."),
    burn_ticker: text.nullable().describe("Taker coin whose fee is partly burned."),
    burn_share: fraction.describe("Burned share of that fee."),
    payment_locktime_sec: seconds.describe("Base of the lock duration, seconds."),
    slow_tickers: z.array(text).max(100).describe("Coins that multiply the lock duration by slow_factor."),
    slow_factor: factor.describe("See slow_tickers; also used when notarization is required."),
    message_grace_sec: seconds.describe("Added to every wait for a message, seconds."),
    negotiation_wait_sec: seconds.describe("Wait for each negotiation message, seconds."),
    payment_message_wait_sec: seconds.describe("Wait for the fee and the maker payment message, seconds."),
    negotiation_resend_sec: seconds.describe("Interval between repeats of Negotiation and its reply, seconds."),
    negotiated_resend_sec: seconds.describe("First pause before Negotiated is repeated, seconds; it doubles up to 240."),
    taker_fee_resend_sec: seconds.describe("First pause before TakerFee is repeated, seconds; it doubles up to 240."),
    maker_payment_resend_sec: seconds.describe("First pause before MakerPayment is repeated, seconds; it doubles up to 240."),
    taker_payment_resend_sec: seconds.describe("First pause before TakerPayment is repeated, seconds; it doubles up to 240."),
    confirmation_value_factor: factor.describe(
      "Safety, can only be raised: confirmations x block reward must be this many times the payment received.",
    ),
    slow_block_factor: factor.describe("Safety, can only be raised: average block times counted for one block."),
    notarization_sec: seconds.describe("Safety, can only be raised: seconds counted for a notarization."),
    reveal_blocks: factor.describe("Safety, can only be raised: slow blocks left before the taker's lock when a maker reveals its secret."),
    network_grace_sec: seconds.describe("Safety, can only be raised: seconds for clock error and for a transaction to spread."),
    fee_ceiling_factor: factor.describe("Safety, can only be raised: how far the fee rate may rise after a match; so much is reserved."),
  })
  .partial();

/** Our own section of the configuration. An unknown key in it is an error. */
export const swapnodeSchema = z.strictObject({
  network_profile: text
    .optional()
    .describe("Rules of the network: spec, kdf-2 or kdf-3. Default: by netid (6133: kdf-3, 8762: kdf-2, else spec)."),
  profile_overrides: profileOverridesSchema.default({}).describe("Single values of the profile replaced."),
  compatibility: z
    .enum(["spec", "kdf"])
    .default("spec")
    .describe("Whose RPC reply is given where the interface document and KDF disagree; docs/compatibility.md has the list."),
  unlimited_allowances: z
    .boolean()
    .default(false)
    .describe(
      "Swap contracts are allowed all of a token at once, not exactly what open payments need: fewer approvals, more trust in the contract.",
    ),
  autostart_coins: z
    .boolean()
    .default(false)
    .describe(
      "Enable the coins of the last run by itself after a start. A daemon's password and the nodes of account chains are kept sealed under a key of the wallet.",
    ),
  swap_copies: text
    .min(1)
    .optional()
    .describe(
      "A folder, best on another disk, for copies of the records of open swaps, from which a lost database is made good. It must be there.",
    ),
  public_seednodes: z.boolean().default(false).describe("Add the public seed nodes of the profile to seednodes."),
  log_level: z
    .enum(["debug", "info", "warn", "error"])
    .optional()
    .describe("Least level that is logged. Default: from RUST_LOG, else info."),
});

/** The keys of KDF's own configuration (reference rpc.md 2.2) that are not null. Unknown ones are a warning. */
export const kdfSchema = z.object({
  gui: text.optional().describe("Name of the client, stored in swap statuses."),
  netid: z.number().int().min(0).default(0).describe("Network number; decides the peer-to-peer ports. 7777 is refused."),
  rpc_password: z
    .unknown()
    .describe("What every RPC request carries as userpass. At least 8 characters with digit, lower, upper and special character."),
  passphrase: z
    .unknown()
    .optional()
    .meta({ type: "string" })
    .describe("Seed phrase, WIF or 0x hex key. Absent and no wallet_name: the node runs without keys and trades nothing."),
  wallet_name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, - or _")
    .optional()
    .describe("Encrypted wallet file to use or create."),
  wallet_password: text.optional().describe("Password of that wallet; same policy as rpc_password."),
  allow_weak_password: z.unknown().optional().meta({ type: "boolean" }).describe("Literally true: skip the password policy."),
  userhome: z.unknown().optional().describe("Accepted and ignored."),
  dbdir: text.optional().describe("Data folder. Default: DB in the working directory if it exists, else ~/.kdf/DB."),
  rpcport: port.default(7783).describe("RPC port, default 7783; 0 = any free port."),
  rpcip: ip.default("127.0.0.1").describe("RPC address."),
  rpc_local_only: z.boolean().default(true).describe("Refuse RPC requests from other machines."),
  rpccors: text.optional().describe("Browser origin that may call the RPC."),
  https: z
    .boolean()
    .default(false)
    .describe(
      "Serve the RPC over TLS, with the certificate and key of MM_CERT_PATH and MM_CERT_KEY_PATH (default cert.pem, key.pem here). A missing certificate is made and kept: self-signed, for ten years, for localhost, rpcip and alt_names.",
    ),
  alt_names: z
    .array(text)
    .max(100)
    .optional()
    .describe(
      "Names, beside localhost and rpcip, by which clients may call the RPC (their Host header); also in a certificate that is made.",
    ),
  seednodes: z
    .array(
      z
        .string()
        .regex(SEED, "must be an IPv4 address or a lower-case domain name, without port or scheme, optionally followed by /p2p/<peer id>"),
    )
    .max(MAX_SEEDS)
    .optional()
    .describe("Nodes to connect to first."),
  i_am_seed: z.boolean().default(false).describe("Relay messages for others and listen."),
  is_bootstrap_node: z.boolean().optional().describe("First seed of a network: needs i_am_seed and no seednodes."),
  disable_p2p: z.boolean().optional().describe("Run without a network: no order book, no swaps."),
  p2p_in_memory: z.boolean().default(false).describe("Test transport inside one process."),
  p2p_in_memory_port: z.number().int().min(0).optional().describe("Its port."),
  myipaddr: ip.optional().describe("Address of this machine on which a seed listens. Default: all it has."),
  wss_certs: z
    .object({ server_priv_key: text, certificate: text })
    .optional()
    .describe("PEM files; with them a seed also listens for wss."),
  max_concurrent_connections: z
    .number()
    .int()
    .min(1)
    .max(65_536)
    .default(512)
    .describe("Peers connected at one time; a seed that has so many leaves one that has been silent for 120 s, or takes no more."),
  enable_hd: z.boolean().default(false).describe("Derive keys from a BIP-39 phrase."),
  coins: z.unknown().optional().meta({ type: "array" }).describe("Coin entries; default: the coins file."),
  use_trading_proto_v2: z.boolean().default(false).describe("Accepted; orders always advertise the legacy protocol."),
  is_watcher: z.boolean().default(false).describe("Accepted and ignored: this node is no watcher."),
  use_watchers: z.boolean().default(true).describe("Accepted and ignored: no watcher messages are sent."),
  maker_order_timeout: z.number().int().min(1).max(1_000_000).default(90).describe("Seconds a silent maker's orders stay in the book."),
  metrics_interval: z
    .number()
    .min(1)
    .max(86_400)
    .optional()
    .describe("Seconds between lines of the log with all that is measured. Default: none are written."),
  prometheusport: port
    .optional()
    .describe("Port of http://<rpcip>:<port>/metrics, which serves what is measured in Prometheus' format. Default: closed."),
  prometheus_credentials: z
    .string()
    .max(1_000)
    .regex(/^[^:]+:./, "must be user:password")
    .optional()
    .describe("user:password asked for at prometheusport. Needed when rpcip is not loopback."),
  event_streaming_configuration: z.unknown().optional().describe("Accepted and ignored."),
  message_service_cfg: z.unknown().optional().describe("Accepted and ignored."),
  silent_console: z.boolean().default(false).describe("No log lines on standard error."),
  swapnode: z.unknown().optional().meta({ type: "object" }).describe("Settings of this program only; see below."),
});

export type KdfFields = z.infer<typeof kdfSchema>;
export type SwapnodeFields = z.infer<typeof swapnodeSchema>;
export type ProfileOverrides = z.infer<typeof profileOverridesSchema>;
