/** The replies of lists, assembled from stored bodies without parsing them. */
import type { DescMessage } from "@bufbuild/protobuf";
import { JsonText } from "../call/call.ts";
import type { Bodies } from "./bodies.ts";

export interface ListedPage {
  readonly bodies: Bodies;
  /** Empty on the last page. */
  readonly nextPageToken: string;
  /** Undefined if there are too many rows to count. */
  readonly totalCount: number | undefined;
  readonly skipped: number;
}

/** The response message of a list. */
export class ListText<Page extends ListedPage = ListedPage, Desc extends DescMessage = DescMessage> extends JsonText<Desc> {
  readonly page: Page;

  constructor(schema: Desc, page: Page) {
    super(schema, () => textOfPage(schema, page, page.bodies.text));
    this.page = page;
  }

  /** The list without its rows. */
  get textWithoutBodies(): string {
    return textOfPage(this.schema, this.page, "");
  }

  override get bytes(): number {
    const { bodies } = this.page;
    return this.text.length - bodies.text.length + bodies.bytes;
  }
}

export function listResponse<Page extends ListedPage, Desc extends DescMessage>(schema: Desc, page: Page): ListText<Page, Desc> {
  return new ListText(schema, page);
}

/** All of it is ASCII but the bodies. */
function textOfPage(schema: DescMessage, page: ListedPage, bodies: string): string {
  const { nextPageToken, totalCount, skipped } = page;
  const items = schema.fields[0]?.jsonName ?? "items";
  const token = nextPageToken === "" ? "" : `"nextPageToken":"${nextPageToken}",`;
  const total = totalCount === undefined ? "" : `"totalCount":"${totalCount}",`;
  return `{"${items}":[${bodies}],${token}${total}"skipped":${skipped}}`;
}
