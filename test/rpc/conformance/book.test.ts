import { BOOK_ROWS } from "./book.ts";
import { runRows } from "./runRows.ts";

runRows("the book", BOOK_ROWS);
