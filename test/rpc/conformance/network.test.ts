import { NETWORK_ROWS } from "./network.ts";
import { runRows } from "./runRows.ts";

runRows("the node and its peers", NETWORK_ROWS);
