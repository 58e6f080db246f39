import type { CoinEntry } from "../core/coin/coinEntry.ts";
import type { NetworkProfile } from "../core/network/networkProfile.ts";
import type { Secret } from "../core/util/secret.ts";
import type { P2pRole } from "./p2pPrecheck.ts";

/** Everything the node is told at start, checked. */
export type NodeConfig = {
  readonly gui: string | null;
  readonly netid: number;
  readonly profile: NetworkProfile;
  readonly rpcPassword: Secret<string>;
  /** Null: from the wallet, or no keys at all. */
  readonly passphrase: Secret<string> | null;
  readonly wallet: { readonly name: string; readonly password: Secret<string> } | null;
  readonly enableHd: boolean;
  /** Absolute. */
  readonly dbdir: string;
  readonly rpc: {
    readonly ip: string;
    /** 0 = any free port. */
    readonly port: number;
    readonly localOnly: boolean;
    readonly cors: string | null;
    /** Further names clients may call this node by. */
    readonly altNames: readonly string[];
    /** Null = plain HTTP. */
    readonly tls: { readonly certPath: string; readonly keyPath: string } | null;
  };
  readonly metrics: {
    /** Null = no Prometheus listener. On the address of the RPC. */
    readonly port: number | null;
    /** `user:password`. */
    readonly credentials: Secret<string> | null;
    /** Seconds between lines of the log with all values; null = none. */
    readonly logSec: number | null;
  };
  readonly p2p: P2pRole & {
    /** From the netid; 0 when p2p is disabled or in memory. */
    readonly tcpPort: number;
    readonly wssPort: number;
    readonly myIp: string | null;
    readonly wssCerts: { readonly keyPath: string; readonly certPath: string } | null;
    readonly maxConnections: number;
    readonly inMemory: boolean;
  };
  /** Whose RPC reply is given where the interface document and KDF disagree. */
  readonly compatibility: "spec" | "kdf";
  /** The coins of the last run are enabled after a start. */
  readonly autostartCoins: boolean;
  /** Folder, which must be there, for copies of the records of open swaps; null = none. Absolute. */
  readonly swapCopies: string | null;
  /** Swap contracts are allowed all of a token at once. */
  readonly unlimitedAllowances: boolean;
  /** Seconds a silent maker's orders stay in the book. */
  readonly makerOrderTimeoutSec: number;
  /** The coins file by ticker. */
  readonly coins: ReadonlyMap<string, CoinEntry>;
  readonly log: {
    readonly level: "debug" | "info" | "warn" | "error";
    /** `MM_LOG`; ends in `.log`. */
    readonly file: string | null;
    readonly silentConsole: boolean;
  };
};
