/* Files of snapshots with their notes: catalog_load_from(). */
#include "base/path.h"
#include "snapshot/tree/catalog.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(snapshot) struct snapshot s = {0};
	auto_free uint8_t *bytes = fuzz_sealed(data, &len);
	char name[32];
	struct err err;
	size_t i;

	if (!bytes)
		return 0;
	catalog_file_name(name, 1);
	fuzz_file(name, bytes, len);
	if (catalog_load_from(fuzz_dir(), 1, &s, &err) < 0)
		return 0;
	must(s.seq == 1 && s.time.nsec < 1000000000);
	must(!s.root.mode || entry_ok(&s.root, true));
	for (i = 0; i < s.note_count; i++) {
		must(path_ok(s.notes[i].path));
		must(snapshot_has_note(&s, s.notes[i].kind, s.notes[i].path));
	}
	return 0;
}
