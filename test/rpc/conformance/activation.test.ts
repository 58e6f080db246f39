import { ACTIVATION_ROWS } from "./activation.ts";
import { runRows } from "./runRows.ts";

runRows("activation", ACTIVATION_ROWS);
