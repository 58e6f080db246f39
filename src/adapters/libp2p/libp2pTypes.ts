import type { Libp2p } from "libp2p";

/** One connection to a peer. */
export type Connection = ReturnType<Libp2p["getConnections"]>[number];
/** One multiplexed stream of a connection. */
export type Stream = Awaited<ReturnType<Connection["newStream"]>>;
