import { isAbsolute, join, resolve } from "node:path";
import type { z } from "zod";
import { netidErrorText, netidPorts } from "../core/gossip/ports.ts";
import { findProfile, type NetworkProfile, PROFILES, profileOfNetid } from "../core/network/networkProfile.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";
import { applyOverrides, lessSafe } from "./applyOverrides.ts";
import { type CoinsFile, parseCoins, parseCoinsText } from "./coinsFile.ts";
import { type ConfigSource, defaultDbDir, readCoinsSource, readConfigSource, readMyIpFile, type Surroundings } from "./configSources.ts";
import { configWarnings, isLoopback } from "./configWarnings.ts";
import { unknownKeyText } from "./nearestName.ts";
import type { NodeConfig } from "./nodeConfig.ts";
import { p2pRole } from "./p2pPrecheck.ts";
import { passwordProblem, rpcPasswordProblem } from "./passwordPolicy.ts";
import { type KdfFields, kdfSchema, profileOverridesSchema, type SwapnodeFields, swapnodeSchema } from "./schema.ts";

export type LoadedConfig = { readonly config: NodeConfig; readonly warnings: readonly string[] };

/** KDF's own format, which is written down nowhere. */
const ENCRYPTED_PASSPHRASE =
  "passphrase is an object: encrypted passphrases of KDF cannot be read here. Give the words as text, once, together with wallet_name and wallet_password, which keep them encrypted from then on";

type Fields = { readonly [key: string]: unknown };

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

function firstIssue(error: z.ZodError, where: string): string {
  const issue = error.issues[0];
  const path = [where, ...(issue?.path ?? []).map(String)].filter((part) => part !== "").join(".");
  return `Invalid configuration: ${path}: ${issue?.message ?? "unreadable"}`;
}

function parseSection(value: unknown): Result<SwapnodeFields, string> {
  const section = value === undefined ? {} : value;
  if (!isObject(section)) return err("Invalid configuration: swapnode must be an object");
  const overrides = isObject(section.profile_overrides) ? section.profile_overrides : {};
  for (const [fields, where, known] of [
    [section, "swapnode", Object.keys(swapnodeSchema.shape)],
    [overrides, "swapnode.profile_overrides", Object.keys(profileOverridesSchema.shape)],
  ] as const) {
    for (const key of Object.keys(fields))
      if (!known.includes(key)) return err(`Invalid configuration: ${unknownKeyText(key, where, known)}`);
  }
  const parsed = swapnodeSchema.safeParse(section);
  return parsed.success ? ok(parsed.data) : err(firstIssue(parsed.error, "swapnode"));
}

function chooseProfile(netid: number, section: SwapnodeFields): Result<NetworkProfile, string> {
  const named = section.network_profile;
  const profile = named === undefined ? profileOfNetid(netid) : findProfile(named);
  if (profile === undefined) {
    return err(
      `Invalid configuration: swapnode.network_profile: ${JSON.stringify(named)} is none of ${PROFILES.map((p) => p.name).join(", ")}`,
    );
  }
  const problem = lessSafe(profile, section.profile_overrides);
  return problem === null ? ok(applyOverrides(profile, section.profile_overrides)) : err(`Invalid configuration: ${problem}`);
}

/** Whose node it is: words, or a wallet that has them or gets them, or nobody's. */
function ownerOf(fields: KdfFields, allowWeak: boolean): Result<Pick<NodeConfig, "passphrase" | "wallet">, string> {
  const { passphrase, wallet_name: name, wallet_password: password } = fields;
  if (isObject(passphrase)) return err(`Invalid configuration: ${ENCRYPTED_PASSPHRASE}`);
  if (passphrase !== undefined && typeof passphrase !== "string") return err("Invalid configuration: passphrase must be text");
  if (passphrase === "") return err("passphrase must not be empty");
  // Half a sign (\ud800) has no bytes of its own: whatever it stood for, the keys would be the same.
  if (/\p{Cs}/u.test(passphrase ?? "")) return err("Invalid configuration: passphrase has a sign that is none");
  if ((name === undefined) !== (password === undefined)) return err("Invalid configuration: wallet_name and wallet_password go together");
  const problem = password === undefined || allowWeak ? null : passwordProblem(password);
  if (problem !== null) return err(`wallet_password: ${problem}`);
  return ok({
    passphrase: passphrase === undefined ? null : new Secret(passphrase),
    wallet: name === undefined || password === undefined ? null : { name, password: new Secret(password) },
  });
}

function rpcPort(port: number): Result<number, string> {
  if (port > 65_535) return err("rpcport > u16");
  return port > 0 && port < 1_024 ? err("rpcport < 1024") : ok(port);
}

function metricsOf(fields: KdfFields): Result<NodeConfig["metrics"], string> {
  const { rpcip, prometheusport: port, prometheus_credentials: credentials, metrics_interval: logSec } = fields;
  if (typeof port === "number" && port > 65_535) return err("Invalid configuration: prometheusport > u16");
  if (typeof port === "number" && !credentials && !isLoopback(rpcip))
    return err(`Invalid configuration: prometheusport on ${rpcip} needs prometheus_credentials, because other machines can reach it`);
  return ok({ port: port ?? null, credentials: credentials ? new Secret(credentials) : null, logSec: logSec ?? null });
}

function loadCoins(fields: KdfFields, at: Surroundings): Result<CoinsFile, string> {
  if (fields.coins !== undefined) return parseCoins(fields.coins, "coins of the configuration");
  const source = readCoinsSource(at);
  if (!source.ok) return source;
  if (source.value === null)
    return ok({ coins: new Map(), warnings: ["no coins file: no coin can be enabled (see MM_COINS_PATH in --help)"] });
  return parseCoinsText(source.value.text, source.value.name);
}

/** `RUST_LOG` filters like `info,mm2=debug`: the first bare level counts. */
function logLevel(section: SwapnodeFields, env: Surroundings["env"]): NodeConfig["log"]["level"] {
  if (section.log_level !== undefined) return section.log_level;
  for (const part of (env.RUST_LOG ?? "").toLowerCase().split(",")) {
    if (part === "debug" || part === "trace") return "debug";
    if (part === "info" || part === "warn" || part === "error") return part;
  }
  return "info";
}

/** As in KDF a key that is null is one that is not there: programs write null for what they have no value for. */
const withoutNulls = (raw: Fields): Fields => Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null));

/** Checks in KDF's order where it has one: passwords first, then network, then the peer-to-peer role. */
function build(raw: Fields, source: ConfigSource, at: Surroundings): Result<LoadedConfig, string> {
  const passwordText = rpcPasswordProblem(raw.rpc_password, raw.allow_weak_password === true);
  if (passwordText !== null) return err(passwordText);
  const parsed = kdfSchema.safeParse(withoutNulls(raw));
  if (!parsed.success) return err(firstIssue(parsed.error, ""));
  const fields = parsed.data;
  const section = parseSection(fields.swapnode);
  if (!section.ok) return section;

  const owner = ownerOf(fields, raw.allow_weak_password === true);
  if (!owner.ok) return owner;
  const port = rpcPort(fields.rpcport);
  if (!port.ok) return port;
  const metrics = metricsOf(fields);
  if (!metrics.ok) return metrics;
  const profile = chooseProfile(fields.netid, section.value);
  if (!profile.ok) return profile;
  const ports = netidPorts(fields.netid, profile.value.name.replace(/\+.*$/, ""));
  if (!ports.ok) return err(netidErrorText(ports.error));
  const extraSeeds = section.value.public_seednodes ? profile.value.seedNodes : [];
  const role = p2pRole({
    seedNodes: extraSeeds.length > 0 ? [...(fields.seednodes ?? []), ...extraSeeds] : (fields.seednodes ?? null),
    iAmSeed: fields.i_am_seed,
    isBootstrapNode: fields.is_bootstrap_node ?? null,
    disableP2p: fields.disable_p2p ?? null,
    inMemory: fields.p2p_in_memory,
    hasIdentity: owner.value.passphrase !== null || owner.value.wallet !== null,
  });
  if (!role.ok) return role;
  const coins = loadCoins(fields, at);
  if (!coins.ok) return coins;
  const logFile = at.env.MM_LOG === undefined || at.env.MM_LOG === "" ? null : at.env.MM_LOG;
  if (logFile !== null && !logFile.endsWith(".log")) return err(`MM_LOG: the name of the log file must end in .log: ${logFile}`);

  const dbdir = fields.dbdir ?? defaultDbDir(at);
  const config: NodeConfig = {
    gui: fields.gui ?? null,
    netid: fields.netid,
    profile: profile.value,
    rpcPassword: new Secret(String(raw.rpc_password)),
    ...owner.value,
    enableHd: fields.enable_hd,
    dbdir: isAbsolute(dbdir) ? dbdir : join(at.cwd, dbdir),
    rpc: {
      ip: fields.rpcip,
      port: port.value,
      localOnly: fields.rpc_local_only,
      cors: fields.rpccors ?? null,
      altNames: fields.alt_names ?? [],
      tls: fields.https
        ? {
            certPath: at.env.MM_CERT_PATH ?? join(at.cwd, "cert.pem"),
            keyPath: at.env.MM_CERT_KEY_PATH ?? join(at.cwd, "key.pem"),
          }
        : null,
    },
    metrics: metrics.value,
    p2p: {
      ...role.value,
      tcpPort: ports.value.tcp,
      wssPort: ports.value.wss,
      myIp: readMyIpFile(at) ?? fields.myipaddr ?? null,
      wssCerts: fields.wss_certs ? { keyPath: fields.wss_certs.server_priv_key, certPath: fields.wss_certs.certificate } : null,
      maxConnections: fields.max_concurrent_connections,
      inMemory: fields.p2p_in_memory,
    },
    compatibility: section.value.compatibility,
    autostartCoins: section.value.autostart_coins,
    swapCopies: section.value.swap_copies === undefined ? null : resolve(at.cwd, section.value.swap_copies),
    unlimitedAllowances: section.value.unlimited_allowances,
    makerOrderTimeoutSec: fields.maker_order_timeout,
    coins: coins.value.coins,
    log: { level: logLevel(section.value, at.env), file: logFile, silentConsole: fields.silent_console },
  };
  const rustLog = section.value.log_level === undefined ? (at.env.RUST_LOG ?? "") : "";
  const warnings = [...configWarnings(raw, fields, source, rustLog), ...coins.value.warnings];
  return ok({ config, warnings });
}

/**
 * Reads and checks the configuration of one node from wherever KDF would find it. The error is one sentence for the
 * operator; it never contains a value of the file.
 */
export function loadConfig(at: Surroundings): Result<LoadedConfig, string> {
  const source = readConfigSource(at);
  if (!source.ok) return source;
  let raw: unknown;
  try {
    raw = JSON.parse(source.value.text);
  } catch (cause) {
    // The parser's own message may quote the file, which holds the passphrase: only the place at its end is told.
    const place = /\((line \d+ column \d+)\)$/.exec(cause instanceof Error ? cause.message : "")?.[1];
    return err(`Couldn't parse mm2 config to JSON format! (${source.value.name}${place === undefined ? "" : `, ${place}`})`);
  }
  if (!isObject(raw)) return err("Invalid configuration: expected a JSON object");
  return build(raw, source.value, at);
}
