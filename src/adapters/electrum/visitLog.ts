import type { Log } from "../../ports/log.ts";

/** The log of a server that is visited: that it comes and goes is no news, each minute. */
export const visitLog = (log: Log): Log => ({
  debug: (event, fields) => log.debug(event, fields),
  info: (event, fields) => log.debug(event, fields),
  warn: (event, fields) => log.warn(event, fields),
  error: (event, fields) => log.error(event, fields),
  child: (fields) => visitLog(log.child(fields)),
});
