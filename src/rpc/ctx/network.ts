import type { DexFeeRule } from "../../app/fees/tradeVolumes.ts";
import type { PeerPolicy } from "../../app/peers/peerPolicy.ts";
import type { TradingCoin } from "../../app/tradingCoin.ts";
import type { NoFeeKey } from "../../core/network/dexFee.ts";
import type { ReadMetrics } from "../../ports/metrics.ts";
import type { MeshView, PeerConnection, PeerId } from "../../ports/network.ts";

export interface NodeApi {
  /** Answer of `version`. */
  readonly version: string;
  /** ISO time of the start. */
  readonly startedAt: string;
  readonly netid: number;
  /** Compressed node key, 66 hex; null without login. */
  readonly publicKey: string | null;
  /** HD wallet: coins have more addresses than the one shown. */
  readonly hd: boolean;
  /** Null when the peer-to-peer network is switched off. */
  readonly network: {
    readonly peerId: string;
    peers(): readonly PeerConnection[];
    /** Relays this node sends to. */
    relays(): readonly PeerId[];
    mesh(): MeshView;
  } | null;
  readonly metrics: ReadMetrics;
  /** Begins the stop of the whole node and returns at once. */
  stop(): void;
}

/** Bans of counterparties. Keys as X coordinates, 64 hex. */
export type PeersApi = Pick<PeerPolicy, "banned" | "ban" | "unban">;

export interface DexFeeApi {
  /** Rule of the network profile for this pair, burned part included; zero rate and floor where nothing is due. */
  rule(takerCoin: Pick<TradingCoin, "ticker" | "dust">, makerTicker: string): DexFeeRule;
  /** Why nobody could pay the fee in this coin; null where somebody can. */
  noFeeKey(takerTicker: string): NoFeeKey | null;
}
