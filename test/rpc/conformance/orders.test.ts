import { ORDER_ROWS } from "./orders.ts";
import { runRows } from "./runRows.ts";

runRows("own orders", ORDER_ROWS);
