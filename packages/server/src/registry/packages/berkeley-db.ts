/**
 * Reads the values of an untrusted Berkeley DB hash database, the form of RPM's database before RPM 4.16 (Berkeley DB 4 and 5,
 * `db_page.h`). Pure.
 */

const META = { magic: 12, pageSize: 20, encryption: 24, pageType: 25 } as const;
const PAGE = { next: 16, entries: 20, length: 22, type: 25, header: 26 } as const;
const HASH_MAGIC = 0x061561;
/** Hash pages, whose entries are unsorted up to version 8 of the format. */
const HASH_PAGES: ReadonlySet<number> = new Set([2, 13]);
const OVERFLOW_PAGE = 7;
const ITEM = { data: 1, overflow: 3 } as const;
const OVERFLOW_ITEM_BYTES = 12;

/**
 * Yields the values of all entries. Visits each page at most twice, so the time is linear in the size of the file.
 * @param maxBytes of a value; larger ones are skipped
 * @throws Error if the file is not such a database
 */
export function* readHashValues(file: Buffer, maxBytes: number): Generator<Buffer> {
  const pages = openPages(file);
  for (let number = 0; number < pages.count; number++) {
    const page = pages.at(number);
    if (!HASH_PAGES.has(page.readUInt8(PAGE.type))) continue;
    const offsets = entryOffsets(page, pages);
    // Keys and values alternate.
    for (let index = 1; index < offsets.length; index += 2) {
      const value = readValue(page, { start: offsets[index] ?? 0, end: offsets[index - 1] ?? 0 }, { pages, maxBytes });
      if (value !== undefined) yield value;
    }
  }
}

interface Pages {
  readonly count: number;
  readonly size: number;
  /** Overflow pages that belong to a value already. */
  readonly used: Set<number>;
  at(number: number): Buffer;
  uint16(page: Buffer, offset: number): number;
  uint32(page: Buffer, offset: number): number;
}

/** The byte order of the machine that wrote the file shows in its magic number. */
function openPages(file: Buffer): Pages {
  if (file.length < 512) throw new Error("the Berkeley DB file is too short");
  const isLittle = file.readUInt32LE(META.magic) === HASH_MAGIC;
  if (!isLittle && file.readUInt32BE(META.magic) !== HASH_MAGIC) throw new Error("it is not a Berkeley DB hash database");
  if (file.readUInt8(META.encryption) !== 0) throw new Error("the Berkeley DB file is encrypted");
  const uint16 = (page: Buffer, offset: number) => (isLittle ? page.readUInt16LE(offset) : page.readUInt16BE(offset));
  const uint32 = (page: Buffer, offset: number) => (isLittle ? page.readUInt32LE(offset) : page.readUInt32BE(offset));
  const size = uint32(file, META.pageSize);
  if (size < 512 || size > 65_536 || (size & (size - 1)) !== 0) throw new Error("the page size of the Berkeley DB file is invalid");
  const at = (number: number) => file.subarray(number * size, (number + 1) * size);
  return { count: Math.floor(file.length / size), size, used: new Set(), at, uint16, uint32 };
}

function entryOffsets(page: Buffer, { size, uint16 }: Pages): number[] {
  const count = uint16(page, PAGE.entries);
  if (PAGE.header + 2 * count > size) throw new Error("a page of the Berkeley DB file is damaged");
  return Array.from({ length: count }, (_, index) => uint16(page, PAGE.header + 2 * index));
}

interface Limits {
  readonly pages: Pages;
  readonly maxBytes: number;
}

/** @param place items grow from the end of the page downwards, so a value ends where its key begins */
function readValue(page: Buffer, { start, end }: { start: number; end: number }, { pages, maxBytes }: Limits): Buffer | undefined {
  if (start >= pages.size) throw new Error("a page of the Berkeley DB file is damaged");
  const kind = page.readUInt8(start);
  if (kind === ITEM.data && end > start && end <= pages.size) return page.subarray(start + 1, end);
  if (kind !== ITEM.overflow || start + OVERFLOW_ITEM_BYTES > pages.size) return undefined;
  const length = pages.uint32(page, start + 8);
  if (length > maxBytes) return undefined;
  return readOverflow(pages.uint32(page, start + 4), length, pages);
}

/** A long value is a chain of pages. */
function readOverflow(first: number, length: number, pages: Pages): Buffer {
  const parts: Buffer[] = [];
  let missing = length;
  for (let number = first; missing > 0; ) {
    if (number === 0 || number >= pages.count || pages.used.has(number)) throw new Error("a value of the Berkeley DB file is damaged");
    pages.used.add(number);
    const page = pages.at(number);
    if (page.readUInt8(PAGE.type) !== OVERFLOW_PAGE) throw new Error("a value of the Berkeley DB file is damaged");
    const bytes = Math.min(pages.uint16(page, PAGE.length), pages.size - PAGE.header, missing);
    if (bytes === 0) throw new Error("a value of the Berkeley DB file is damaged");
    parts.push(page.subarray(PAGE.header, PAGE.header + bytes));
    missing -= bytes;
    number = pages.uint32(page, PAGE.next);
  }
  return Buffer.concat(parts);
}
