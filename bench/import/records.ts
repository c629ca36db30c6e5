/** Writes a zip of OSV records, one file each, that resemble real records in size and variety: one package with three fixed versions. */
import { open } from "node:fs/promises";
import { crc32, deflateRawSync } from "node:zlib";

const PACKAGES = 5000;

export async function writeRecords(path: string, count: number): Promise<void> {
  await using file = await open(path, "wx");
  const directory: Buffer[] = [];
  let offset = 0;
  for (let i = 0; i < count; i++) {
    const name = Buffer.from(`HOLT-2026-${i}.json`);
    const content = Buffer.from(JSON.stringify(record(i), null, 1));
    const packed = deflateRawSync(content, { level: 1 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, rest, name]));
    const entry = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, packed]);
    await file.write(entry);
    offset += entry.length;
  }
  const all = Buffer.concat(directory);
  await file.write(Buffer.concat([all, endOf(count, all.length, offset)]));
}

/** The ZIP64 end record, which supports any number of files, its locator, and the plain end record that refers to them. */
function endOf(count: number, size: number, offset: number): Buffer {
  const end = Buffer.alloc(56 + 20 + 22, 0);
  end.write("PK\x06\x06", 0, "latin1");
  end.writeBigUInt64LE(44n, 4);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(size), 40);
  end.writeBigUInt64LE(BigInt(offset), 48);
  end.write("PK\x06\x07", 56, "latin1");
  end.writeBigUInt64LE(BigInt(offset + size), 64);
  end.writeUInt32LE(1, 72);
  end.write("PK\x05\x06", 76, "latin1");
  end.fill(0xff, 84, 96);
  return end;
}

function record(i: number): object {
  const name = `package-${i % PACKAGES}`;
  const versions = [1, 2, 3].flatMap((major) => [{ introduced: `${major}.0.0` }, { fixed: `${major}.${i % 89}.${i % 7}` }]);
  return {
    schema_version: "1.6.0",
    id: `HOLT-2026-${i}`,
    published: "2026-01-02T03:04:05Z",
    modified: "2026-05-02T03:04:05Z",
    aliases: [`CVE-2026-${i + 1000}`],
    summary: `A buffer overflow in ${name}`,
    details: `The parser of ${name} trusts the lengths that it reads. `.repeat(8),
    severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }],
    references: [{ type: "FIX", url: `https://example.test/${name}/commit/${i}` }],
    affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: versions }] }],
  };
}
