//! The errors with which the system refuses an access, as programs print them.
//!
//! The words are those of the C library in every language into which GNU's translates them, in UTF-8, and those
//! of runtimes that have words of their own. A line in another encoding is not understood. Whether the sandbox is what
//! refused is not decided here.

use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;
use std::sync::LazyLock;

/// Why the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// `EROFS`.
    ReadOnly,
    /// `EACCES`.
    Denied,
    /// `EPERM`.
    NotPermitted,
    /// `EBUSY`.
    Busy,
}

impl Refusal {
    /// No text that names a refusal is shorter, in bytes.
    pub(super) const SHORTEST: usize = 12;

    /// The first refusal that `line` names, and where, whatever the letter case (of ASCII letters: zsh, node and Go
    /// begin theirs with a small one). Takes time linear in the length of `line`.
    pub(super) fn find(line: &[u8]) -> Option<(Range<usize>, Refusal)> {
        let (automaton, refusals) = &*TEXTS;
        let found = automaton.as_ref()?.find(line)?;
        Some((found.range(), *refusals.get(found.pattern().as_usize())?))
    }
}

/// In the order of the columns of [`TRANSLATIONS`].
const ALL: [Refusal; 4] = [Refusal::ReadOnly, Refusal::Denied, Refusal::NotPermitted, Refusal::Busy];

/// What finds all texts at once, and what each of them means. Made when it is first needed.
///
/// That it can be made depends on the tables alone, and a test makes it.
static TEXTS: LazyLock<(Option<AhoCorasick>, Vec<Refusal>)> = LazyLock::new(|| {
    let translated = TRANSLATIONS.iter().flat_map(|row| row.iter().copied().zip(ALL));
    let all = translated.chain(OWN_WORDS.iter().copied()).filter(|(text, _)| !text.is_empty());
    let (texts, refusals): (Vec<&str>, Vec<Refusal>) = all.unzip();
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest);
    (builder.build(texts).ok(), refusals)
});

/// The words of programs that do not ask the C library for them, or not GNU's.
const OWN_WORDS: &[(&str, Refusal)] = &[
    // musl, libuv, macOS.
    ("Resource busy", Refusal::Busy),
    // The class says it all; the path follows.
    ("java.nio.file.AccessDeniedException", Refusal::Denied),
    // .NET: the path follows, then `is denied`.
    ("Access to the path", Refusal::Denied),
];

/// GNU's words for `EROFS`, `EACCES`, `EPERM` and `EBUSY`; empty where a language has none of its own.
const TRANSLATIONS: &[[&str; 4]] = &[
    ["Read-only file system", "Permission denied", "Operation not permitted", "Device or resource busy"],
    // be
    ["", "бракуе правоў", "дзеяньне не дазволена", "Прылада ці расурс заняты"],
    // bg
    [
        "Файлова система само за четене",
        "Отказан достъп",
        "Действието не е позволено",
        "Заето устройство или ресурс",
    ],
    // ca
    [
        "El sistema de fitxers és només de lectura",
        "S’ha denegat el permís",
        "L’operació no és permesa",
        "El dispositiu o recurs es troba ocupat",
    ],
    // cs
    [
        "Systém souborů je pouze pro čtení",
        "Operace zamítnuta",
        "Operace není povolena",
        "Zařízení nebo zdroj jsou používány",
    ],
    // da
    [
        "Filsystem med kun læseadgang",
        "Adgang nægtet",
        "Operationen er ikke tilladt",
        "Enheden eller ressourcen optaget",
    ],
    // de
    [
        "Das Dateisystem ist nur lesbar",
        "Keine Berechtigung",
        "Die Operation ist nicht erlaubt",
        "Das Gerät oder die Ressource ist belegt",
    ],
    // el
    [
        "Αναγνώσιμο-μόνο σύστημα αρχείων",
        "Άρνηση πρόσβασης",
        "Η λειτουργία δεν επιτρέπεται",
        "Συσκευή ή πόροι είναι απασχολημένοι",
    ],
    // eo
    ["Nur-lega dosiersistemo", "Mankas permeso", "Operacio ne permesatas", "Aparato aŭ risurco uziĝas"],
    // es
    [
        "Sistema de ficheros de sólo lectura",
        "Permiso denegado",
        "Operación no permitida",
        "Dispositivo o recurso ocupado",
    ],
    // fi
    [
        "Kirjoitussuojattu tiedostojärjestelmä",
        "Lupa evätty",
        "Toiminto ei ole sallittu",
        "Laite tai resurssi varattu",
    ],
    // fr
    [
        "Système de fichiers accessible en lecture seulement",
        "Permission non accordée",
        "Opération non permise",
        "Périphérique ou ressource occupé",
    ],
    // gl
    [
        "Sistema de ficheiros de só lectura",
        "Permiso denegado",
        "Operación non permitida",
        "Dispositivo ou recurso ocupado",
    ],
    // hr
    [
        "Datotečni sustav je samo za čitanje",
        "Pristup je odbijen",
        "Operacija nije dopuštena",
        "Uređaj ili resurs je zauzeti",
    ],
    // hu
    [
        "Írásvédett fájlrendszer",
        "Engedély megtagadva",
        "A művelet nem engedélyezett",
        "Az eszköz vagy erőforrás foglalt",
    ],
    // id
    [
        "Sistem berkas baca-saja",
        "Ijin ditolak",
        "Operasi tidak diijinkan",
        "Perangkat atau sumber daya sibuk",
    ],
    // it
    [
        "File system in sola lettura",
        "Permesso negato",
        "Operazione non permessa",
        "Dispositivo o risorsa occupata",
    ],
    // ja
    [
        "読み込み専用ファイルシステムです",
        "許可がありません",
        "許可されていない操作です",
        "デバイスもしくはリソースがビジー状態です",
    ],
    // ko
    ["읽기전용 파일 시스템", "허가 거부", "명령을 허용하지 않음", "장치나 자원이 동작 중"],
    // lt
    ["Failų sistema tik skaitymui", "", "Operacija neleidžiama", "Įrenginys ar resursas užimtas"],
    // nb
    [
        "Filsystem med kun lesetilgang",
        "Ikke tilgang",
        "Operasjonen er ikke tillatt",
        "Enheten eller ressursen opptatt",
    ],
    // nl
    [
        "Bestandssysteem is alleen-lezen",
        "Toegang geweigerd",
        "Actie is niet toegestaan",
        "Apparaat of hulpbron is bezig",
    ],
    // pl
    [
        "System plików wyłącznie do odczytu",
        "Brak dostępu",
        "Operacja niedozwolona",
        "Urządzenie lub zasoby zajęte",
    ],
    // pt
    [
        "Sistema de ficheiros só de leitura",
        "Permissão recusada",
        "Operação não permitida",
        "Dispositivo ou recurso ocupado",
    ],
    // pt_BR
    [
        "Sistema de arquivos somente para leitura",
        "Permissão negada",
        "Operação não permitida",
        "Dispositivo ou recurso está ocupado",
    ],
    // ru
    [
        "Файловая система доступна только для чтения",
        "Отказано в доступе",
        "Операция не позволена",
        "Устройство или ресурс занято",
    ],
    // sk
    [
        "Súborový systém dovoľuje len čítanie",
        "Prístup odmietnutý",
        "Operácia nie je povolená",
        "Zariadenie alebo iný zdroj je používané",
    ],
    // sl
    ["Datotečni sistem je zgolj za branje", "", "Operacija ni dovoljena", "Naprava ali vir je v rabi"],
    // sr
    [
        "Систем датотека само за читање",
        "Овлашћење је одбијено",
        "Радња није допуштена",
        "Уређај или извориште је заузето",
    ],
    // sv
    ["Skrivskyddat filsystem", "Åtkomst nekas", "Operationen inte tillåten", "Enhet eller resurs upptagen"],
    // tr
    [
        "Salt-okunur dosya sistemi",
        "Erişim engellendi",
        "İşleme izin verilmedi",
        "Aygıt ya da özkaynak meşgul",
    ],
    // uk
    [
        "Файлова система тільки для зчитування",
        "Відмовлено у доступі",
        "Дію заборонено",
        "Пристрій або ресурс зайнято",
    ],
    // vi
    [
        "Hệ thống tập tin chỉ cho đọc",
        "Không đủ quyền truy cập",
        "Thao tác không được phép",
        "Thiết bị hoặc tài nguyên đang bận",
    ],
    // zh_CN
    ["只读文件系统", "权限不够", "不允许的操作", "设备或资源忙"],
    // zh_TW
    ["唯讀的檔案系統", "拒絕不符權限的操作", "此項操作並不被允許", "裝置或系統資源忙碌中"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_in_every_language() {
        for row in TRANSLATIONS {
            for (text, refusal) in row.iter().zip(ALL).filter(|(text, _)| !text.is_empty()) {
                let (line, text) = (format!("cat: /x: {text}: y"), text.len());
                assert_eq!(Refusal::find(line.as_bytes()), Some((9..9 + text, refusal)), "{line}");
                assert!(text >= Refusal::SHORTEST, "{line}");
            }
        }
    }

    #[test]
    fn the_first_and_longest_counts_whatever_the_letter_case() {
        for (line, found) in [
            ("EROFS: read-only file system, open", Some((7..28, Refusal::ReadOnly))),
            ("zsh:1: das Dateisystem ist nur lesbar: /x", Some((7..37, Refusal::ReadOnly))),
            ("rm: x: Device or resource busy", Some((7..30, Refusal::Busy))),
            ("rm: x: Resource busy", Some((7..20, Refusal::Busy))),
            ("permission denied, Operation not permitted", Some((0..17, Refusal::Denied))),
            ("cat: x: No such file or directory", None),
            ("Permission  denied", None),
            ("", None),
        ] {
            assert_eq!(Refusal::find(line.as_bytes()), found, "{line}");
        }
    }
}
