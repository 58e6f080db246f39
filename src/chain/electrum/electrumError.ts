import { RpcError } from "../rpc/rpcError.ts";

/** Codes of ElectrumX's answers beside those of JSON-RPC 2.0. */
export const ELECTRUM_CODE = {
  badRequest: 1,
  daemon: 2,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  parse: -32700,
} as const;

export const badRequest = (text: string): RpcError => new RpcError(ELECTRUM_CODE.badRequest, text);

/** A refusal of the daemon below, in the words ElectrumX (1.15) passes it on with. */
export const daemonError = ({ code, message }: RpcError): RpcError =>
  new RpcError(ELECTRUM_CODE.daemon, `daemon error: DaemonError({'code': ${code}, 'message': '${message}'})`);
